#include "data/corpus/contents.hpp"

#include <algorithm>
#include <filesystem>

#include "data/corpus/schema.hpp"

namespace trireme::data {
namespace {

using archive::hdf5::DatasetReader;

template <class... Parts>
[[noreturn]] void refuse(const CorpusInfo& info, const Parts&... parts) {
    throw ConfigError(cat(info.path, " is damaged: ", parts..., "; ", corpus_schema::repair_advice));
}

// Refuses a dataset that claims to be larger than its file: reading it would exhaust memory. Corpora are not
// compressed, so such a size cannot be right.
void check_size(const DatasetReader& dataset, const std::string& name, const CorpusInfo& info) {
    const std::uint64_t file_bytes = std::filesystem::file_size(info.path);
    if (dataset.size() > file_bytes / dataset.element_bytes())
        refuse(info, "its dataset ", name, " claims ", dataset.size(), " elements of ", dataset.element_bytes(),
               " bytes, but the file has only ", file_bytes, " bytes");
}

void check_checksum(const CorpusContents& contents, const CorpusInfo& info) {
    corpus_schema::DatasetHashes hashes;
    for (const auto& [name, dataset] : contents.datasets) hashes[name] = dataset.recorded_sha256();
    const std::string computed_checksum = corpus_schema::compute_checksum(info, hashes);
    if (computed_checksum != info.checksum)
        refuse(info, "its attributes give the checksum ", computed_checksum, ", but ", info.checksum,
               " is recorded");
}

// Checks that the dataset has `elements_per_row` elements per row.
void check_rows(const DatasetReader& dataset, const std::string& name, std::uint64_t elements_per_row,
                const CorpusInfo& info) {
    if (dataset.size() % elements_per_row != 0 || dataset.size() / elements_per_row != info.rows)
        refuse(info, "its attribute 'rows' is ", info.rows, ", but ", name, " holds ", dataset.size(),
               " elements, not ", elements_per_row, " per row");
}

// Reads the dataset `name`, which has the offsets of all rows in the dataset `target_name`. Throws ConfigError
// unless the offsets begin with 0, never decrease, and end with the size of `target_name`.
std::vector<std::uint64_t> read_offsets(const CorpusContents& contents, const std::string& name,
                                        const std::string& target_name, const CorpusInfo& info) {
    const DatasetReader& dataset = contents.datasets.at(name);
    const std::uint64_t end = contents.datasets.at(target_name).size();
    if (dataset.size() == 0 || dataset.size() - 1 != info.rows)
        refuse(info, "its attribute 'rows' is ", info.rows, ", but ", name, " holds ", dataset.size(),
               " elements, not ", info.rows + 1);
    std::vector<std::uint64_t> offsets(dataset.size());
    dataset.read(0, offsets);
    const auto descent = std::is_sorted_until(offsets.begin(), offsets.end());
    if (descent != offsets.end())
        refuse(info, name, " decreases from ", *(descent - 1), " to ", *descent, " at row ",
               descent - offsets.begin());
    if (offsets.front() != 0 || offsets.back() != end)
        refuse(info, name, " runs from ", offsets.front(), " to ", offsets.back(), ", but ", target_name,
               " holds ", end, " elements");
    return offsets;
}

// Reads the dataset `name`, which has `elements_per_row` numbers per row.
std::vector<std::uint32_t> read_row_numbers(const CorpusContents& contents, const std::string& name,
                                            std::uint64_t elements_per_row, const CorpusInfo& info) {
    const DatasetReader& dataset = contents.datasets.at(name);
    check_rows(dataset, name, elements_per_row, info);
    std::vector<std::uint32_t> numbers(dataset.size());
    dataset.read(0, numbers);
    return numbers;
}

}  // namespace

CorpusContents open_contents(archive::hdf5::Handle file, CorpusInfo& info) {
    CorpusContents contents;
    for (const corpus_schema::DatasetForm& form : corpus_schema::list_datasets(info)) {
        DatasetReader dataset(file.get(), info.path, form.name);
        check_size(dataset, form.name, info);
        contents.datasets.emplace(form.name, std::move(dataset));
    }
    contents.file = std::move(file);
    const bool has_tokens = corpus_schema::has_tokens(info.kind);
    if (has_tokens) info.tokens = contents.datasets.at("/tokens").size();
    check_checksum(contents, info);
    if (has_tokens) contents.row_begins = read_offsets(contents, "/offsets", "/tokens", info);
    if (corpus_schema::has_labels(info.kind)) contents.labels = read_row_numbers(contents, "/labels", 1, info);
    if (info.kind == RowKind::image)
        check_rows(contents.datasets.at("/images"), "/images", info.image.pixels(), info);
    if (info.kind == RowKind::question) {
        contents.question_positions = read_row_numbers(contents, "/places", 3, info);
        contents.answer_begins = read_offsets(contents, "/answer_offsets", "/answers", info);
    }
    return contents;
}

}  // namespace trireme::data
