openapi-python-client generate --url "$TOOLS_URL/openapi.json" --meta none --output-path tools
