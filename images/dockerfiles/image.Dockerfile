# An image as it is used: a group's toolchains, and this program's part that works inside.
ARG TOOLCHAINS
FROM ${TOOLCHAINS}
COPY ctxmode /opt/ctxmode
RUN ["python3", "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/opt/ctxmode"]
USER 65432:65432
WORKDIR /
ENTRYPOINT ["python3", "-I", "-S", "-B", "/opt/ctxmode/agent/__main__.py"]
