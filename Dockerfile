# The image of Autonous: the three programs, and the tools that commands expect, run by an ordinary user.
#
#   docker build -t autonous .
#   docker run -d --name autonous -v autonous:/data -p 127.0.0.1:8700:8700 -p 127.0.0.1:8701:8701 autonous
#   docker exec autonous supervisor chat 'ls path=.'
#
# Both ports need a token; `docker exec autonous supervisor token` prints them. Publish each port under its own
# number, because requests with another port in their Host header are refused.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release -p supervisor -p agent-worker -p tool-server --bins

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash ca-certificates coreutils fd-find git ripgrep sed \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/bin/fdfind /usr/local/bin/fd \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin autonous \
    && install -d -o autonous -g autonous -m 0700 /data
COPY --from=build /src/target/release/supervisor /src/target/release/agent-worker /src/target/release/tool-server \
    /usr/local/bin/

USER autonous
WORKDIR /data
VOLUME /data
# Listen beyond loopback, because requests to a published port arrive from outside the container. Nothing is
# reachable until a port is published.
ENV AUTONOUS_DATA_DIR=/data \
    AUTONOUS_CONTROL_LISTEN=0.0.0.0:8700 \
    AUTONOUS_TOOL_LISTEN=0.0.0.0:8701
EXPOSE 8700 8701
STOPSIGNAL SIGTERM
# Bash makes the request itself, so that the image needs no HTTP client.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8700 && printf 'GET /readyz HTTP/1.1\\r\\nHost: 127.0.0.1:8700\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r status <&3 && [[ $status == *' 200 '* ]]"]
ENTRYPOINT ["supervisor", "run"]
