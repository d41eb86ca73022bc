# The replication in a container: the pinned environment, and make as its command.
#   docker build -t kgl .
#   docker run --rm -v "$PWD/results:/kgl/results" kgl preview
# `docker run --rm kgl` lists the targets. The real data sets are downloaded by `figures`, or
# mounted: -v "$PWD/data/raw:/kgl/data/raw".
FROM python:3.12-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /kgl
# The environment first: it changes less often than the code.
COPY Makefile pyproject.toml setup.py README.md LICENSE ./
COPY requirements requirements
COPY kgl kgl
RUN make env
COPY . .
# Files that were copied may be newer than the environment, which has what they ask for.
RUN make --touch env
ENTRYPOINT ["make"]
CMD ["help"]
