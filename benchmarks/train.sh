#!/bin/sh
# Train the shipped models: sh benchmarks/train.sh [DATA]
# The training data is the sites, the sites of other kinds, and the WCXB development split; news and articles are held
# out. The cross-validation leaves out families of sites (benchmarks/families.json). The page-level classifier of 2007
# learns from all sites, without their gold text.
set -eu
data=${1:-.data}
out=scrapy_pagelets/decision
scrapy pagelets train "$data/sites" "$data/sites2" "$data/content/wcxb-dev.warc" --base http:// \
    --families benchmarks/families.json \
    --gold "$data"/sites/*/gold.jsonl.gz "$data"/sites2/*/gold.jsonl.gz "$data/content/wcxb-dev.gold.jsonl.gz" \
    --out "$out/labelled.npz" --folds "$data/models"
scrapy pagelets train "$data/sites" "$data/sites2" "$data/content/wcxb-dev.warc" --base http:// --trees 150 \
    --families benchmarks/families.json --out "$out/automatic.npz"
scrapy pagelets train "$data/sites" "$data/sites2" --page-level --out scrapy_pagelets/papers/page_level.npz
