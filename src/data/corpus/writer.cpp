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

// Abandons a file that was not closed, so that HDF5 does not write the rest of it.
struct AbandonUnfinished {
    const Handle& file;
    ~AbandonUnfinished() { archive::hdf5::abandon(file); }
};

struct CorpusWriter::Storage {
    Storage(archive::PartialFile partial_file, CorpusInfo corpus_info)
        : partial(std::move(partial_file)),
          info(std::move(corpus_info)),
          file(archive::hdf5::create_file(partial.partial_path())) {
        for (const corpus_schema::DatasetForm& form : corpus_schema::list_datasets(info)) {
            datasets.emplace(form.name,
                             DatasetWriter(file.get(), form.name, form.element_bytes, form.chunk_elements));
            open_chunk_bytes += form.chunk_bytes();
        }
    }

    // Reserves disk space for `more_bytes` before HDF5 needs it, because HDF5 crashes if the disk refuses the
    // last bytes of a file.
    void reserve(std::uint64_t more_bytes) {
        constexpr std::uint64_t metadata_bytes = 1 << 19;  // headers, attributes
        constexpr std::uint64_t advance_bytes = 1 << 20;   // so that most calls reserve nothing
        data_bytes += more_bytes;
        // The index of the chunks takes less than a hundredth of the data.
        partial.reserve(data_bytes + data_bytes / 100 + open_chunk_bytes + metadata_bytes, advance_bytes);
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

    archive::PartialFile partial;  // destroyed last, so that HDF5 has closed the file before it is removed
    CorpusInfo info;
    std::uint64_t data_bytes = 0;        // appended bytes
    std::uint64_t open_chunk_bytes = 0;  // upper bound: one incomplete chunk per dataset
    std::uint64_t answer_bytes = 0;      // size of /answers
    Handle file;
    std::map<std::string, DatasetWriter> datasets;
    std::vector<std::uint16_t> narrow_tokens;  // the tokens of one row as uint16; reused
    AbandonUnfinished abandon_guard{file};     // destroyed first
};

void CorpusWriter::Storage::append_tokens(std::span<const std::uint32_t> tokens) {
    for (const std::uint32_t token : tokens)
        if (token >= info.vocabulary_size)
            throw BugError(cat("token ", token, " of a row is beyond the vocabulary of ", info.vocabulary_size,
                               " tokens"));
    if (corpus_schema::find_token_bytes(info.vocabulary_size) == sizeof(std::uint16_t)) {
        narrow_tokens.resize(tokens.size());
        std::transform(tokens.begin(), tokens.end(), narrow_tokens.begin(),
                       [](std::uint32_t token) { return static_cast<std::uint16_t>(token); });
        append<std::uint16_t>("/tokens", narrow_tokens);
    } else {
        append("/tokens", tokens);
    }
    info.tokens += tokens.size();
    append_one<std::uint64_t>("/offsets", info.tokens);
}

void CorpusWriter::Storage::append_question(const Question& question, std::size_t row_length) {
    if (question.context_begin > question.answer_first || question.answer_first > question.answer_last ||
        question.answer_last >= row_length)
        throw BugError(cat("an answer is tokens ", question.answer_first, " to ", question.answer_last,
                           ", but its context begins at token ", question.context_begin, " and the row has ",
                           row_length, " tokens"));
    const std::array<std::uint32_t, 3> places{question.context_begin, question.answer_first,
                                              question.answer_last};
    append<std::uint32_t>("/places", places);
    for (const std::string& answer : question.answers) {
        if (answer.find('\0') != std::string::npos)
            throw ConfigError(cat("an answer of row ", info.rows,
                                  " contains a zero byte, which a corpus uses to end answers; remove the zero "
                                  "byte from the input"));
        append("/answers", std::span<const char>(answer.c_str(), answer.size() + 1));
        answer_bytes += answer.size() + 1;
    }
    append_one<std::uint64_t>("/answer_offsets", answer_bytes);
}

namespace {

CorpusInfo make_corpus_info(const std::filesystem::path& path, const CorpusDescription& description) {
    CorpusInfo info;
    info.path = path.string();
    info.kind = description.kind;
    info.source = description.source;
    info.filter = description.filter;
    info.licence = description.licence;
    info.schema_version = corpus_schema::version;
    if (!corpus_schema::has_tokens(info.kind)) {
        info.image = description.image;
        if (info.image.pixels() == 0) throw BugError("the images of a corpus have no pixels");
        return info;
    }
    if (!description.tokenizer) throw BugError("a corpus of tokens has no tokenizer");
    info.tokenizer_name = description.tokenizer->name();
    info.tokenizer_hash = description.tokenizer->compute_hash();
    info.vocabulary_size = description.tokenizer->vocabulary_size();
    for (const corpus_schema::SpecialTokenName& name : corpus_schema::special_token_names)
        info.special_tokens.*name.token = description.tokenizer->find_special_token(name.spelling);
    return info;
}

// Raises the number of classes to at least `label` + 1.
void count_label_class(CorpusInfo& info, std::uint32_t label) {
    constexpr std::uint32_t max_label = std::numeric_limits<std::int32_t>::max() - 1;  // targets are int32
    if (label > max_label) throw BugError(cat("label ", label, " of a row is above ", max_label));
    info.classes = std::max<std::size_t>(info.classes, label + std::size_t{1});
}

void set_class_names(CorpusInfo& info, const std::vector<std::string>& names) {
    if (names.empty()) return;
    if (!corpus_schema::has_labels(info.kind)) throw BugError("class names were given for rows without labels");
    if (names.size() < info.classes)
        throw BugError(
            cat(names.size(), " class names were given, but the labels are 0 to ", info.classes - 1));
    info.classes = names.size();
    // The names as readers will get them: bytes that are not UTF-8 are replaced.
    info.class_names = corpus_schema::parse_class_names(corpus_schema::format_class_names(names)).value();
}

}  // namespace

CorpusWriter::CorpusWriter(const std::filesystem::path& path, const CorpusDescription& description) {
    constexpr std::uint64_t min_bytes = 2 << 20;  // reserved before any data, to detect a full disk at once
    storage_ =
        std::make_unique<Storage>(archive::PartialFile(path, min_bytes), make_corpus_info(path, description));
    Storage& storage = *storage_;
    storage.reserve(0);  // for metadata and incomplete chunks
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
        count_label_class(info, row.label);
        storage.append_one("/labels", row.label);
    }
    if (info.kind == RowKind::question) storage.append_question(row.question, row.tokens.size());
    if (info.kind == RowKind::image) {
        if (row.pixels.size() != info.image.pixels())
            throw BugError(cat("an image has ", row.pixels.size(), " bytes, not ", info.image.pixels()));
        storage.append<std::uint8_t>("/images", row.pixels);
    }
    info.rows += 1;
}

CorpusInfo CorpusWriter::finish(std::vector<std::string> class_names) {
    Storage& storage = *storage_;
    CorpusInfo& info = storage.info;
    set_class_names(info, class_names);
    // For the attribute with the class names; the factor 2 is a margin.
    storage.reserve(2 * corpus_schema::format_class_names(info.class_names).size());
    corpus_schema::DatasetHashes hashes;
    for (auto& [name, dataset] : storage.datasets) hashes[name] = dataset.finish();
    info.checksum = corpus_schema::compute_checksum(info, hashes);
    write_attributes(storage.file.get(), info);
    const std::uint64_t size = archive::hdf5::flush(storage.file);
    archive::hdf5::check_hdf5(storage.file.close(), cat("cannot write ", info.path),
                              "free some space, or name another folder with --output");
    storage.partial.commit(size);
    return info;
}

}  // namespace trireme::data
