# Java. What only links new runtimes (jmods) is left out: it is a quarter of the whole.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install default-jdk-headless python3 && rm -rf /usr/lib/jvm/*/jmods
RUN /build/finish

FROM scratch
COPY --from=installed / /
