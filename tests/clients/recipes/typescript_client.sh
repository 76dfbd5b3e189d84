npx openapi-typescript "$TOOLS_URL/openapi.json" -o schema.ts
