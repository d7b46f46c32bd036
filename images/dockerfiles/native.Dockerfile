# Compiled languages: Go, Rust, C, C++.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install g++ gcc golang-go libc6-dev python3 rustc
RUN /build/finish

FROM scratch
COPY --from=installed / /
