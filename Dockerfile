# syntax=docker/dockerfile:1
# docker build .                          the service for a ClickHouse server
# docker build --build-arg EMBEDDED=1 .   with the engine inside as well, its data in /data
# Its command line in a container:        docker exec -it NAME request-analytics

# By digest, which a tag can leave; CONTRIBUTING.md says how it is moved.
FROM node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e AS base

FROM base AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs its install script. The engine is here in any case, for its types.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json vite.config.js ./
COPY src ./src
RUN npm run build && chmod 755 dist/cli.cjs
ARG EMBEDDED=
RUN npm prune --omit=dev $([ -n "$EMBEDDED" ] || echo --omit=optional) --ignore-scripts --no-audit --no-fund

FROM base
# With its default of 64 MB for each half of the young generation, Node.js 24 takes 100 MB more memory and is not faster.
# By default malloc has up to eight arenas for each core, and keeps freed buffers of megabytes in them: 100 MB more,
# and OTLP takes 6 to 13 % more processor time.
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=32 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=1048576 \
    DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY clickhouse/migrations ./clickhouse/migrations
# Nothing else is ever written; with a server, nothing at all but /tmp by `import -`.
RUN install -d -m 0700 -o node -g node /data && ln -s /app/dist/cli.cjs /usr/local/bin/request-analytics
USER node
EXPOSE 3000 3001 4317
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.cjs"]
