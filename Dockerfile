# Findspot as a container: it runs as an ordinary user, writes only to /index, and needs no network.
#
#   docker build -t findspot .
#   docker run --rm --read-only --tmpfs /tmp --cap-drop ALL --network none \
#     -v "$PWD":/project:ro -v findspot-index:/index findspot index
#   docker run --rm -i --read-only --tmpfs /tmp --cap-drop ALL --network none \
#     -v "$PWD":/project:ro -v findspot-index:/index findspot
#
# --build-arg EXTRAS=lance adds what indexes on object storage need. deploy/kubernetes.yaml is a server for a team.
ARG PYTHON=3.14
FROM python:${PYTHON}-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
ARG EXTRAS=
ENV FINDSPOT_NATIVE=require
RUN python -m venv /opt/findspot && /opt/findspot/bin/python -m pip install --no-cache-dir ".${EXTRAS:+[$EXTRAS]}"

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="Findspot" \
      org.opencontainers.image.licenses="Apache-2.0" \
      io.modelcontextprotocol.server.name="io.github.findspot/findspot"
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /project \
    && groupadd --gid 10001 findspot \
    && useradd --uid 10001 --gid findspot --no-create-home --home-dir /index findspot \
    && install --directory --owner findspot --group findspot /index /project
COPY --from=build /opt/findspot /opt/findspot
ENV PATH=/opt/findspot/bin:$PATH \
    FINDSPOT_HOME=/index \
    PYTHONDONTWRITEBYTECODE=1
USER findspot
VOLUME ["/index"]
WORKDIR /project
ENTRYPOINT ["findspot"]
CMD ["serve"]
