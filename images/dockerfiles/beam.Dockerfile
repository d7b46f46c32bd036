# Elixir on the Erlang virtual machine.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install elixir python3
RUN /build/finish

FROM scratch
COPY --from=installed / /
