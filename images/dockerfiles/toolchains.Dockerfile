# The toolchains of a group of languages, by their packages of Debian.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install python3 $(cat /build/packages/debian)
RUN /build/finish

FROM scratch
COPY --from=installed / /
