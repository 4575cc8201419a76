#include <algorithm>
#include <limits>
#include <map>

#include "data/corpus/contents.hpp"
#include "data/corpus/schema.hpp"
#include "trireme/archive/hdf5_dataset.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/partial_file.hpp"
#include "trireme/data/corpus_writer.hpp"

namespace trireme::data {
using archive::hdf5::DatasetWriter;
using archive::hdf5::Handle;

// Abandons an unfinished file without writing the rest of it.
struct AbandonUnfinished {
    const Handle& file;
    ~AbandonUnfinished() { archive::hdf5::abandon(file); }
};

struct CorpusWriter::Storage {
    Storage(archive::PartialFile partial_file, CorpusInfo corpus_info)
        : partial(std::move(partial_file)),
          info(std::move(corpus_info)),
          file(archive::hdf5::create_file(partial.partial_path())) {
        for (const corpus_schema::DatasetForm& form : corpus_schema::datasets_of(info)) {
            datasets.emplace(form.name,
                             DatasetWriter(file.get(), form.name, form.element_bytes, form.chunk_elements));
            begun_chunks += form.chunk_bytes();
        }
    }

    // Reserves disk space before HDF5 needs it: HDF5 writes late, and crashes if the disk refuses the last
    // bytes of a file.
    void reserve(std::uint64_t more_bytes) {
        constexpr std::uint64_t beside = 1 << 19;  // headers, attributes
        constexpr std::uint64_t ahead = 1 << 20;
        data_bytes += more_bytes;
        // The index of the chunks takes less than a hundredth.
        partial.reserve(data_bytes + data_bytes / 100 + begun_chunks + beside, ahead);
    }

    template <class Element>
    void append(const std::string& name, std::span<const Element> elements) {
        reserve(elements.size_bytes());
        datasets.at(name).append(std::as_bytes(elements));
    }
    template <class Element>
    void append_one(const std::string& name, Element element) {
        append(name, std::span<const Element>(&element, 1));
    }

    void append_tokens(std::span<const std::uint32_t> tokens);
    void append_question(const Question& question, std::size_t row_length);

    archive::PartialFile partial;  // destroyed last: removed after HDF5 has closed it
    CorpusInfo info;
    std::uint64_t data_bytes = 0;    // appended bytes
    std::uint64_t begun_chunks = 0;  // bytes of the last chunk of every dataset
    std::uint64_t answer_bytes = 0;
    Handle file;
    std::map<std::string, DatasetWriter> datasets;
    std::vector<std::uint16_t> narrow;   // one row, reused
    AbandonUnfinished unfinished{file};  // destroyed first
};

void CorpusWriter::Storage::append_tokens(std::span<const std::uint32_t> tokens) {
    for (const std::uint32_t token : tokens)
        if (token >= info.vocabulary_size)
            throw BugError(
                cat("token ", token, " of a row is beyond the vocabulary of ", info.vocabulary_size));
    if (corpus_schema::token_bytes(info.vocabulary_size) == sizeof(std::uint16_t)) {
        narrow.resize(tokens.size());
        std::transform(tokens.begin(), tokens.end(), narrow.begin(),
                       [](std::uint32_t token) { return static_cast<std::uint16_t>(token); });
        append<std::uint16_t>("/tokens", narrow);
    } else {
        append("/tokens", tokens);
    }
    info.tokens += tokens.size();
    append_one<std::uint64_t>("/offsets", info.tokens);
}

void CorpusWriter::Storage::append_question(const Question& question, std::size_t row_length) {
    if (question.context_begin > question.answer_first || question.answer_first > question.answer_last ||
        question.answer_last >= row_length)
        throw BugError(cat("an answer from token ", question.answer_first, " to ", question.answer_last,
                           " of a context from ", question.context_begin, " to ", row_length));
    const std::array<std::uint32_t, 3> places{question.context_begin, question.answer_first,
                                              question.answer_last};
    append<std::uint32_t>("/places", places);
    for (const std::string& answer : question.answers) {
        if (answer.find('\0') != std::string::npos)
            throw ConfigError(cat("an answer holds a zero byte, which ends the texts of a corpus (row ",
                                  info.rows, "); take it out of the input"));
        append("/answers", std::span<const char>(answer.c_str(), answer.size() + 1));
        answer_bytes += answer.size() + 1;
    }
    append_one<std::uint64_t>("/answer_offsets", answer_bytes);
}

namespace {

CorpusInfo describe(const std::filesystem::path& path, const CorpusDescription& description) {
    CorpusInfo info;
    info.path = path.string();
    info.kind = description.kind;
    info.source = description.source;
    info.filter = description.filter;
    info.licence = description.licence;
    info.schema_version = corpus_schema::version;
    if (!corpus_schema::has_tokens(info.kind)) {
        info.image = description.image;
        if (info.image.pixels() == 0) throw BugError("a corpus of images without pixels");
        return info;
    }
    if (!description.tokenizer) throw BugError("a corpus of tokens without a tokenizer");
    info.tokenizer_name = description.tokenizer->name();
    info.tokenizer_hash = description.tokenizer->hash();
    info.vocabulary_size = description.tokenizer->vocabulary_size();
    for (const corpus_schema::SpecialName& name : corpus_schema::special_names)
        info.special.*name.token = description.tokenizer->special_token(name.spelling);
    return info;
}

// Ensures that the number of classes exceeds the label.
void count_label(CorpusInfo& info, std::uint32_t label) {
    constexpr std::uint32_t largest = std::numeric_limits<std::int32_t>::max() - 1;  // targets are int32
    if (label > largest) throw BugError(cat("label ", label, " of a row is above ", largest));
    info.classes = std::max<std::size_t>(info.classes, label + std::size_t{1});
}

void name_classes(CorpusInfo& info, const std::vector<std::string>& names) {
    if (names.empty()) return;
    if (!corpus_schema::has_labels(info.kind)) throw BugError("names of classes for rows without labels");
    if (names.size() < info.classes)
        throw BugError(cat(names.size(), " names for classes up to ", info.classes - 1));
    info.classes = names.size();
    info.class_names = corpus_schema::class_names_of(corpus_schema::class_names_text(names)).value();
}

}  // namespace

CorpusWriter::CorpusWriter(const std::filesystem::path& path, const CorpusDescription& description) {
    constexpr std::uint64_t least_space = 2 << 20;  // bytes; less space has no room for any corpus
    storage_ = std::make_unique<Storage>(archive::PartialFile(path, least_space), describe(path, description));
    Storage& storage = *storage_;
    storage.reserve(0);
    if (corpus_schema::has_tokens(storage.info.kind)) {
        const std::string bytes = description.tokenizer->to_bytes();
        storage.append("/tokenizer", std::span<const char>(bytes));
        storage.append_one<std::uint64_t>("/offsets", 0);
    }
    if (storage.info.kind == RowKind::question) storage.append_one<std::uint64_t>("/answer_offsets", 0);
}

CorpusWriter::CorpusWriter(CorpusWriter&&) noexcept = default;
CorpusWriter& CorpusWriter::operator=(CorpusWriter&&) noexcept = default;
CorpusWriter::~CorpusWriter() = default;

void CorpusWriter::add(const CorpusRow& row) {
    Storage& storage = *storage_;
    CorpusInfo& info = storage.info;
    if (corpus_schema::has_tokens(info.kind)) storage.append_tokens(row.tokens);
    if (corpus_schema::has_labels(info.kind)) {
        count_label(info, row.label);
        storage.append_one("/labels", row.label);
    }
    if (info.kind == RowKind::question) storage.append_question(row.question, row.tokens.size());
    if (info.kind == RowKind::image) {
        if (row.pixels.size() != info.image.pixels())
            throw BugError(cat("an image of ", row.pixels.size(), " bytes, not ", info.image.pixels()));
        storage.append<std::uint8_t>("/images", row.pixels);
    }
    info.rows += 1;
}

CorpusInfo CorpusWriter::finish(std::vector<std::string> class_names) {
    Storage& storage = *storage_;
    CorpusInfo& info = storage.info;
    name_classes(info, class_names);
    storage.reserve(2 * corpus_schema::class_names_text(info.class_names).size());
    corpus_schema::DatasetSums sums;
    for (auto& [name, dataset] : storage.datasets) sums[name] = dataset.finish();
    info.checksum = corpus_schema::checksum(info, sums);
    write_attributes(storage.file.get(), info);
    const std::uint64_t size = archive::hdf5::flush(storage.file);
    archive::hdf5::check_hdf5(storage.file.close(), cat("cannot write ", info.path),
                              "free some space, or name another folder with --output");
    storage.partial.keep(size);
    return info;
}

}  // namespace trireme::data
