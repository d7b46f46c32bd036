# Scripting languages: Python, shell, Ruby, PHP, Perl, Lua.
ARG BASE
FROM ${BASE} AS installed
ARG STAGE
LABEL context-mode.stage=${STAGE}
COPY build /build
RUN /build/install bash lua5.4 perl php-cli python3 ruby
RUN /build/finish

FROM scratch
COPY --from=installed / /
