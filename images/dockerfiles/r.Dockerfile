# R.
ARG BASE
FROM ${BASE} AS installed
COPY build /build
RUN /build/install python3 r-base-core
RUN /build/finish

FROM scratch
COPY --from=installed / /
