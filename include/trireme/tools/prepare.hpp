// `trireme prepare`: texts, ids, questions or images to a corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "trireme/data/source.hpp"

namespace trireme::tools {

struct PrepareConfig {
    std::vector<std::string> inputs;
    data::SourceFormat format = data::SourceFormat::automatic;
    std::string output;
    std::string where;      // see RowFilter; not of images
    std::string label;      // the field of JSON lines that says a text's class; empty: texts without classes
    std::string tokenizer;  // bytes | gpt2:DIR | FILE/tokenizer.json | train:N; for id rows: the ids' own.
                            // Empty: bytes. Not of images.
    std::string special_tokens = "none";  // none | bert: [CLS], [SEP] and [MASK], which questions always get
    std::optional<data::RowUnit> rows;    // of plain text; none: paragraphs
    std::string synthetic;                // "csn": rows made from `seed` instead of inputs
    std::size_t count = 700;
    std::uint64_t seed = 1;
    bool skip_bad = false;  // leave bad rows out and count them, instead of stopping at the first
    std::string licence;    // as the user states it; recorded
    bool quiet = false;     // no progress and no summary
};

struct PrepareReport {
    std::uint64_t rows = 0;
    std::uint64_t tokens = 0;
    std::uint64_t skipped_rows = 0;      // bad
    std::uint64_t filtered_rows = 0;     // not wanted by --where
    std::uint64_t empty_rows = 0;        // without a single token
    std::uint64_t unanswerable = 0;      // questions that have no answer
    std::uint64_t moved_answers = 0;     // that were elsewhere in the context than the file says
    std::vector<std::uint64_t> classes;  // rows of each
    std::uint64_t bytes_in = 0;          // read, after unpacking
    double seconds = 0;
    std::uint64_t shortest = 0, p50 = 0, p90 = 0, p99 = 0, longest = 0;  // tokens of a row
};

// Writes the corpus; the output appears under its name only when it is whole, and replaces a file of that name.
// Progress goes to `progress` about once a second, a summary at the end. Throws ConfigError where an input, a
// row or the output cannot be used or all rows are of one class, ResourceError where the machine refuses.
PrepareReport prepare(const PrepareConfig& config, std::ostream& progress);

}  // namespace trireme::tools
