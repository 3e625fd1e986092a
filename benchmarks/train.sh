#!/bin/sh
# Train the shipped models: sh benchmarks/train.sh [DATA]
# The training data is the sites with a stated licence and the WCXB development split; news and articles are held out.
# The page-level classifier of 2007 learns from all sites, without their gold text.
set -eu
data=${1:-.data}
out=scrapy_pagelets/templates
train="$data/train-sites"
rm -rf "$train"
mkdir -p "$train"
python - "$data/sites" <<'EOF' | while read -r name; do cp -rl "$data/sites/$name" "$train/"; done
import json, sys
for site in json.load(open(f"{sys.argv[1]}/sites.json")):
    if "not stated" not in site["licence"]:
        print(site["name"])
EOF
scrapy pagelets train "$train" "$data/content/wcxb-dev.warc" --base http:// \
    --gold "$train"/*/gold.jsonl.gz "$data/content/wcxb-dev.gold.jsonl.gz" --out "$out/labelled.npz" --folds "$data/models"
scrapy pagelets train "$train" "$data/content/wcxb-dev.warc" --base http:// --trees 150 --out "$out/automatic.npz"
scrapy pagelets train "$data/sites" "$data/sites2" --page-level --out "$out/page_level.npz"
