"""Ask a crawl with LlamaIndex: python rag_llamaindex.py CHUNKS QUESTION."""

import json
import sys

from embedding import vectors
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode


class Hashed(BaseEmbedding):
    """The vectors of `embedding`, as LlamaIndex wants them."""

    def _get_text_embedding(self, text):
        return vectors([text])[0]

    def _get_query_embedding(self, query):
        return vectors([query])[0]

    async def _aget_query_embedding(self, query):
        return vectors([query])[0]


with open(sys.argv[1], encoding="utf-8") as file:
    chunks = [json.loads(line) for line in file]
nodes = [
    TextNode(
        text=chunk["markdown"],
        metadata={"source": chunk["url"], "headings": " > ".join(chunk["headings"])},
        excluded_embed_metadata_keys=["source"],
    )
    for chunk in chunks
]
index = VectorStoreIndex(nodes, embed_model=Hashed())

for found in index.as_retriever(similarity_top_k=3).retrieve(sys.argv[2]):
    print(found.node.metadata["source"])
