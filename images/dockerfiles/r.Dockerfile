# R.
ARG BASE
FROM ${BASE} AS installed
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install python3 r-base-core
RUN /build/finish

FROM scratch
COPY --from=installed / /
