# Scripting languages, and what shell programs commonly call.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install git jq procps python3 $(cat /build/packages/debian)
RUN /build/finish

FROM scratch
COPY --from=installed / /
