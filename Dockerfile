# The package, its compiled core and the extras for archives, Parquet and Redis: docker build -t pagelets .
#   docker run --rm -v "$PWD:/data" pagelets crawl https://example.com/ -o cleaned.jsonl
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip install --no-cache-dir --prefix=/installed '/source[archive,corpus,redis]'

FROM python:3.13-slim
COPY --from=build /installed /usr/local
RUN useradd --create-home crawler && mkdir /data && chown crawler /data
USER crawler
WORKDIR /data
ENTRYPOINT ["pagelets"]
CMD ["--help"]
