"""Words that follow each other in the definitions of an English dictionary (GCIDE), and the part of speech it gives them.

A word's neighbours are seldom of its own part of speech, so the graph is heterophilous. Features are the letters of the
word: which groups of one to four of them it contains, with marks for its beginning and end. Only words with one part of speech
are labelled.

usage: gcide.py FOLDER [PACKAGE]    PACKAGE is dict-gcide (the default) or dict-gcide=VERSION
"""

import gzip
import re
import sys
from collections import Counter, defaultdict

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

# An entry begins with the word, the word with hyphens and stress marks, and then, after the pronunciation, the part of speech.
HEAD = re.compile(r"(\S[^\\\n]*?) +\\[^\\]*\\")
SPEECH = re.compile(r"(?<![\w.])(prop\. n|n|adj|adv|a|v)\.(?![a-z])")
MEANS = {"n": "noun", "prop. n": "noun", "adj": "adjective", "a": "adjective", "adv": "adverb", "v": "verb"}
# Inflected forms, such as "[imp. & p. p. {Decorated}; p. pr. & vb. n. {Decorating}.]".
FORMS = {
    "past": re.compile(r"(?:imp|p)\. ?(?:& )?p\. ?p?\.?\s+\{([A-Za-z]+)\}"),
    "participle": re.compile(r"p\. pr\. (?:& vb\. n\. )?\{([A-Za-z]+)\}"),
    "plural": re.compile(r"pl\. \{([A-Za-z]+)\}"),
    "comparison": re.compile(r"(?:[Cc]ompar|superl)\. \{([A-Za-z]+)\}"),
}
# Sources, etymologies, pronunciations, fields and authors are not part of the running text.
ASIDE = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|--\s?[A-Z][\w.]*(?: [A-Z][\w.]*)*")
WORDS, OFTEN, TOGETHER = re.compile(r"[a-z]+"), 8, 2


def entries(files):
    with gzip.open(files / "usr/share/dictd/gcide.dict.dz") as file:
        return re.split(r"\n(?=\S)", file.read().decode("utf8", "replace"))


def without_asides(text):
    """Asides may be nested."""
    for _ in range(3):
        text = ASIDE.sub(" ", text)
    return text


def speech(entry, found):
    """Adds the parts of speech that an entry gives, and returns the rest of the entry."""
    head = HEAD.match(entry)
    if not head:
        return ""
    rest = entry[head.end() :]
    # The part of speech stands before the definition, which begins on a line of its own.
    shown = without_asides(re.sub(r"\((?:[^()]|\([^()]*\))*\)", " ", rest[:300]))
    if (given := SPEECH.search(shown.partition("1. ")[0])) and re.fullmatch("[A-Za-z]+", head[1]):
        found[head[1].lower()].add(MEANS[given[1]])
    flat = " ".join(re.sub(r"\([^()]*\)", " ", rest[:600]).split())
    for form, pattern in FORMS.items():
        for word in pattern.findall(flat):
            found[word.lower()].add(form)
    return rest.partition("\n")[2]


def main(out, package="dict-gcide"):
    found, count, follows = defaultdict(set), Counter(), Counter()
    with unpacked(package) as (files, version):
        for entry in entries(files):
            text = " ".join(without_asides(speech(entry, found)).lower().split())
            for phrase in re.split(r"[^a-z{} ]+", text):
                words = WORDS.findall(phrase)
                count.update(words)
                follows.update(zip(words, words[1:]))
    names = sorted(word for word, times in count.items() if times >= OFTEN and len(word) > 1)
    number = {word: k for k, word in enumerate(names)}
    pairs = [pair for pair, times in follows.items() if times >= TOGETHER]
    edges = [(number[u], number[v]) for u, v in pairs if u in number and v in number]
    x = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), min_df=50).fit_transform(names)
    labels = [next(iter(found[name])) if len(found[name]) == 1 else "" for name in names]
    write(out, f"dict-gcide {version}", ("word", "followed_by"), names, edges, x, labels, smallest=60)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)
