"""Ask a crawl with LangChain: python rag_langchain.py CHUNKS QUESTION."""

import json
import sys

from embedding import vectors
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore


class Hashed(Embeddings):
    """The vectors of `embedding`, as LangChain wants them."""

    def embed_documents(self, texts):
        """Of many texts."""
        return vectors(texts)

    def embed_query(self, text):
        """Of one."""
        return vectors([text])[0]


with open(sys.argv[1], encoding="utf-8") as file:
    chunks = [json.loads(line) for line in file]
documents = [
    Document(" > ".join(chunk["headings"]) + "\n" + chunk["markdown"], metadata={"source": chunk["url"]})
    for chunk in chunks
]
store = InMemoryVectorStore.from_documents(documents, Hashed())

found = store.similarity_search(sys.argv[2], k=3)
for document in found:
    print(document.metadata["source"])
context = "\n\n".join(document.page_content for document in found)  # goes into the prompt, before the question
print(f"{len(context.split())} words of context")
