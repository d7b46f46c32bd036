# Scripting languages: Python, shell, Ruby, PHP, Perl, Lua; and what shell programs commonly call.
ARG BASE
FROM ${BASE} AS installed
USER 0:0
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install bash lua5.4 perl php-cli python3 ruby git jq procps
RUN /build/finish

FROM scratch
COPY --from=installed / /
