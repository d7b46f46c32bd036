# Compiled languages: Go, Rust, C, C++.
ARG BASE
FROM ${BASE} AS installed
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install g++ gcc golang-go libc6-dev python3 rustc
RUN /build/finish

FROM scratch
COPY --from=installed / /
