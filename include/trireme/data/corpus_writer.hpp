// Creates a corpus.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/data/corpus_info.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::data {

// Facts about a corpus that are known before its first row.
struct CorpusDescription {
    RowKind kind = RowKind::text;
    std::optional<Tokenizer> tokenizer;  // unset for images
    ImageSize image;                     // for images
    std::string source;
    std::string filter;  // value of --where, recorded but not applied; empty if it selects all rows
    std::string licence;
};

// A row to be written. Fields that rows of the corpus's kind do not have stay empty.
struct CorpusRow {
    std::vector<std::uint32_t> tokens;
    std::uint32_t label = 0;
    Question question;
    std::vector<std::uint8_t> pixels;  // (channels, height, width)
};

// Writes a corpus row by row into a hidden file beside `path`. finish() renames this file to `path`, replacing
// an existing file. Without a call of finish(), the destructor removes the hidden file.
class CorpusWriter {
public:
    // Throws ConfigError if the folder is missing or not writable.
    CorpusWriter(const std::filesystem::path& path, const CorpusDescription& description);
    CorpusWriter(CorpusWriter&&) noexcept;
    CorpusWriter& operator=(CorpusWriter&&) noexcept;
    ~CorpusWriter();

    // Throws BugError for tokens beyond the vocabulary, answers outside the context, or a wrong number of
    // pixels. Throws ConfigError for an answer that contains a zero byte, and ResourceError if a write fails.
    void add(const CorpusRow& row);

    // Completes the file, and returns the CorpusInfo that Corpus::info() will return for the file. Must be
    // called once, after all rows. Throws ResourceError if a write fails. If `class_names` is empty, the number
    // of classes is one more than the largest label. Otherwise `class_names[c]` is the name of class `c`, and
    // classes without rows may have names. Throws BugError if the class of a row then has no name.
    CorpusInfo finish(std::vector<std::string> class_names = {});

private:
    struct Storage;
    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme::data
