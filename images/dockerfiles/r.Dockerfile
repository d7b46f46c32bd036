# R.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install python3 r-base-core
RUN /build/finish

FROM scratch
COPY --from=installed / /
