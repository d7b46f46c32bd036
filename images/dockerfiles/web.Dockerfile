# JavaScript and TypeScript: node, bun, deno, and node with tsx.
ARG BASE
FROM ${BASE} AS packages
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install ca-certificates $(cat /build/packages/debian)
RUN /build/install-npm $(cat /build/packages/npm)

FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install nodejs python3
COPY --from=packages /usr/local/lib/node_modules /usr/local/lib/node_modules
COPY --from=packages /usr/local/bin /usr/local/bin
RUN /build/finish

FROM scratch
COPY --from=installed / /
