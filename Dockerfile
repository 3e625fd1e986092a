# The package, its compiled core and the extras for archives, Parquet and Redis: docker build -t pagelets .
#   docker run --rm -v "$PWD:/data" pagelets crawl site -a url=https://example.com/ -O cleaned.jsonl
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN SCRAPY_PAGELETS_CORE=required pip install --no-cache-dir --prefix=/installed '/source[archive,corpus,redis]'

FROM python:3.13-slim
COPY --from=build /installed /usr/local
RUN useradd --create-home crawler && mkdir /data && chown crawler /data
USER crawler
WORKDIR /data
ENV SCRAPY_SETTINGS_MODULE=scrapy_pagelets.crawler.settings
ENTRYPOINT ["scrapy"]
CMD ["pagelets", "--help"]
