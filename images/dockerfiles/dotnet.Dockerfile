# C#, by Mono: Debian has no other .NET.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install mono-mcs mono-runtime python3
RUN /build/finish

FROM scratch
COPY --from=installed / /
