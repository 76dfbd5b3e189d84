# The images of Autonous. docs/containers.md says how to run them; `make image` builds them all.
#
#   docker build -t autonous .                              the three programs
#   docker build -t autonous:full --target full .           with what agents' commands often need
#   docker build -t autonous:tool-server --target tool-server .   the tool server alone

FROM docker.io/library/rust:1.95-slim-bookworm AS rust
WORKDIR /src

# What decides the dependencies: the manifests, and an empty source for each target. It is the same until one of
# them changes, so the next stage is, too.
FROM rust AS manifests
COPY . .
RUN find . -type f ! -name Cargo.toml ! -name Cargo.lock ! -name lib.rs ! -name main.rs -delete \
    && find . -name '*.rs' | while read -r file; do echo 'fn main() {}' > "$file"; done \
    && find . -depth -type d -empty -delete \
    && chmod -R u=rwX,go=rX . \
    && find . -exec touch --date=@0 {} +

FROM rust AS build
COPY --from=manifests /src .
# The dependencies stay; what came of the empty sources does not.
RUN cargo build --locked --release -p command-line -p agent-worker -p tool-server --bins \
    && cargo clean --release --workspace
COPY . .
RUN cargo build --locked --release -p command-line -p agent-worker -p tool-server --bins

FROM docker.io/library/debian:bookworm-slim AS base
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash ca-certificates coreutils fd-find git ripgrep sed \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/bin/fdfind /usr/local/bin/fd \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin autonous \
    && install -d -o autonous -g autonous -m 0700 /data /data/workspace
LABEL org.opencontainers.image.title=Autonous org.opencontainers.image.licenses="MIT OR Apache-2.0"
USER autonous
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM

FROM base AS tool-server
COPY --from=build /src/target/release/tool-server /usr/local/bin/
# Beyond loopback, the server starts only with AUTONOUS_TOOL_TOKEN or AUTONOUS_TOOL_TOKEN_FILE.
ENV AUTONOUS_DATA_DIR=/data \
    AUTONOUS_TOOL_ALLOWED_ROOTS=/data/workspace \
    AUTONOUS_TOOL_LISTEN=0.0.0.0:8701
EXPOSE 8701
# Bash makes the request itself, so that the image needs no HTTP client.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8701 && printf 'GET /readyz HTTP/1.1\\r\\nHost: 127.0.0.1:8701\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r status <&3 && [[ $status == *' 200 '* ]]"]
ENTRYPOINT ["tool-server"]
CMD ["serve"]

FROM base AS service
# Listen beyond loopback, because requests to a published port arrive from outside the container. Nothing is
# reachable until a port is published, and both ports need a token.
ENV AUTONOUS_DATA_DIR=/data \
    AUTONOUS_CONTROL_LISTEN=0.0.0.0:8700 \
    AUTONOUS_TOOL_LISTEN=0.0.0.0:8701
EXPOSE 8700 8701
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8700 && printf 'GET /readyz HTTP/1.1\\r\\nHost: 127.0.0.1:8700\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r status <&3 && [[ $status == *' 200 '* ]]"]
ENTRYPOINT ["supervisor"]
CMD ["run"]

FROM service AS full
USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential curl espeak-ng file jq less nodejs \
        opus-tools patch pkg-config procps python3 python3-venv sqlite3 unzip xz-utils zip \
    && rm -rf /var/lib/apt/lists/*
USER autonous
COPY --from=build /src/target/release/supervisor /src/target/release/agent-worker /src/target/release/tool-server \
    /usr/local/bin/

FROM service AS autonous
COPY --from=build /src/target/release/supervisor /src/target/release/agent-worker /src/target/release/tool-server \
    /usr/local/bin/
