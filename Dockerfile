# syntax=docker/dockerfile:1

# the same Debian in both stages: a binary does not start on an older libc than it was linked with
FROM rust:1.95-slim-bookworm AS build
# SQLite and ring are compiled from C that their crates carry
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
RUN cargo build --release --locked --bin portico

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin portico \
    && install --directory --owner=portico --group=portico --mode=0700 /data
COPY --from=build /build/target/release/portico /usr/local/bin/portico
# reached from outside the container only with a key: the administrator's is made at the first start, in /data/admin.key
# a plain stop is followed by a kill after 10 s: the drain ends well before, which leaves time to end tools and close the store
# the shell of a cli session does not start among the database and the keys
ENV PORTICO__STORE__PATH=/data \
    PORTICO__SERVER__BIND=0.0.0.0:8080 \
    PORTICO__AUTH__ADMIN_KEY=true \
    PORTICO__SERVER__DRAIN_MS=5000 \
    PORTICO__TOOLS__BASH__CWD=/tmp
# config.toml is optional and is read from here
WORKDIR /data
USER portico
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=5s --retries=3 CMD ["portico", "health"]
CMD ["portico", "serve"]
