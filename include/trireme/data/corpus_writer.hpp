// Making a corpus.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/data/corpus_info.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::data {

// What a corpus is made with, known before its first row.
struct CorpusDescription {
    RowKind kind = RowKind::text;
    std::optional<Tokenizer> tokenizer;  // none: of images
    ImageSize image;                     // of images
    std::string source;
    std::string filter;
    std::string licence;
};

// A row to be written: what its kind has, the rest empty.
struct CorpusRow {
    std::vector<std::uint32_t> tokens;
    std::uint32_t label = 0;
    Question question;
    std::vector<std::uint8_t> pixels;  // (channels, height, width)
};

// Writes a corpus row by row into a hidden file beside `path`, and renames it into place when it is whole; a
// file of that name is replaced then. Destroyed before finish(), it leaves nothing behind.
class CorpusWriter {
public:
    // Throws ConfigError where the folder is missing or may not be written.
    CorpusWriter(const std::filesystem::path& path, const CorpusDescription& description);
    CorpusWriter(CorpusWriter&&) noexcept;
    CorpusWriter& operator=(CorpusWriter&&) noexcept;
    ~CorpusWriter();

    // Tokens must lie within the vocabulary, answers in the context, and pixels must be as many as said
    // (BugError). Throws ConfigError for an answer with a zero byte in it, ResourceError where the disk
    // refuses.
    void add(const CorpusRow& row);

    // Of labelled rows: the names of the classes by number, none for a label fewer (BugError). Without names
    // there are as many classes as the largest label says.
    CorpusInfo finish(std::vector<std::string> class_names = {});

private:
    struct Storage;
    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme::data
