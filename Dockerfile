# The package, its compiled core and the extras for archives, Parquet and Redis: docker build -t pagelets .
#   docker run --rm -v "$PWD:/data" pagelets crawl https://example.com/ -o cleaned.jsonl
FROM python:3.13-slim AS build
# The compiler is that of the base image's Debian, and is not in the image: no version is pinned.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip install --no-cache-dir --prefix=/installed '/source[archive,corpus,redis]'

FROM python:3.13-slim
COPY --from=build /installed /usr/local
RUN useradd --create-home --uid 1000 crawler && mkdir /data && chown crawler /data
USER 1000
WORKDIR /data
ENTRYPOINT ["pagelets"]
CMD ["--help"]
