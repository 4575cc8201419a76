// `trireme prepare`: converts texts, ids, questions or images to a corpus.
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
    std::string where;      // see RowFilter; not for images
    std::string label;      // JSON field with the class of a text; if empty, texts have no classes
    std::string tokenizer;  // bytes | gpt2:DIR | FILE/tokenizer.json | train:N; for ids, the one that made
                            // them. If empty: bytes. Not for images.
    std::string special_tokens = "none";  // none | bert: [CLS], [SEP] and [MASK], which questions always get
    std::optional<data::RowUnit> rows;    // of plain text; if unset, paragraphs
    std::string synthetic;                // "csn": rows made from `seed` instead of inputs
    std::size_t count = 700;
    std::uint64_t seed = 1;
    bool skip_bad = false;  // skip and count bad rows instead of stopping at the first one
    std::string licence;    // as the user states it; recorded
    bool quiet = false;     // no progress and no summary
};

struct PrepareReport {
    std::uint64_t rows = 0;
    std::uint64_t tokens = 0;
    std::uint64_t skipped_rows = 0;      // bad rows that --skip-bad skipped
    std::uint64_t filtered_rows = 0;     // rows that --where excluded
    std::uint64_t empty_rows = 0;        // without a single token
    std::uint64_t unanswerable = 0;      // questions without an answer
    std::uint64_t moved_answers = 0;     // answers found elsewhere in the context than the file says
    std::vector<std::uint64_t> classes;  // rows per class
    std::uint64_t bytes_in = 0;          // bytes read, after decompression
    double seconds = 0;
    std::uint64_t shortest = 0, p50 = 0, p90 = 0, p99 = 0, longest = 0;  // tokens per row
};

// Writes the corpus. The output appears once it is complete and replaces a file of that name. Messages and a
// final summary go to `progress`; a terminal also shows a progress line. Throws ConfigError if an input, a row
// or the output cannot be used, or if all rows are of one class. Throws ResourceError if the machine fails.
PrepareReport prepare(const PrepareConfig& config, std::ostream& progress);

}  // namespace trireme::tools
