#include "data/corpus/contents.hpp"

#include <algorithm>
#include <filesystem>

#include "data/corpus/schema.hpp"

namespace trireme::data {
namespace {

using archive::hdf5::DatasetReader;

template <class... Parts>
[[noreturn]] void refuse(const CorpusInfo& info, const Parts&... parts) {
    throw ConfigError(cat(info.path, " is damaged: ", parts..., "; ", corpus_schema::make_again));
}

// Refuses a dataset that claims to be larger than the file: Trireme does not compress corpora, so that reading
// it would only exhaust memory.
void check_held(const DatasetReader& dataset, const std::string& name, const CorpusInfo& info) {
    const std::uint64_t held = std::filesystem::file_size(info.path);
    if (dataset.size() > held / dataset.element_bytes())
        refuse(info, name, " says it holds ", dataset.size(), " elements of ", dataset.element_bytes(),
               " bytes, more than the ", held, " bytes of its file");
}

void check_checksum(const CorpusContents& contents, const CorpusInfo& info) {
    corpus_schema::DatasetSums sums;
    for (const auto& [name, dataset] : contents.datasets) sums[name] = dataset.recorded_sha256();
    const std::string found = corpus_schema::checksum(info, sums);
    if (found != info.checksum)
        refuse(info, "its attributes give the checksum ", found, ", recorded is ", info.checksum);
}

// Checks that the dataset has `per_row` elements per row.
void check_rows(const DatasetReader& dataset, const std::string& name, std::uint64_t per_row,
                const CorpusInfo& info) {
    if (dataset.size() % per_row != 0 || dataset.size() / per_row != info.rows)
        refuse(info, "it says ", info.rows, " rows but ", name, " holds ", dataset.size(), " elements, not ",
               per_row, " for each row");
}

// Reads the offsets of all rows into the dataset `into` and checks them.
std::vector<std::uint64_t> read_offsets(const CorpusContents& contents, const std::string& name,
                                        const std::string& into, const CorpusInfo& info) {
    const DatasetReader& dataset = contents.datasets.at(name);
    const std::uint64_t end = contents.datasets.at(into).size();
    if (dataset.size() == 0 || dataset.size() - 1 != info.rows)
        refuse(info, "it says ", info.rows, " rows but holds ", dataset.size(), " offsets in ", name,
               ", not one more");
    std::vector<std::uint64_t> begins(dataset.size());
    dataset.read(0, begins);
    const auto fall = std::is_sorted_until(begins.begin(), begins.end());
    if (fall != begins.end())
        refuse(info, name, " falls from ", *(fall - 1), " to ", *fall, " at row ", fall - begins.begin());
    if (begins.front() != 0 || begins.back() != end)
        refuse(info, name, " runs from ", begins.front(), " to ", begins.back(), " but ", into, " holds ", end);
    return begins;
}

std::vector<std::uint32_t> read_numbers(const CorpusContents& contents, const std::string& name,
                                        std::uint64_t per_row, const CorpusInfo& info) {
    const DatasetReader& dataset = contents.datasets.at(name);
    check_rows(dataset, name, per_row, info);
    std::vector<std::uint32_t> numbers(dataset.size());
    dataset.read(0, numbers);
    return numbers;
}

}  // namespace

CorpusContents open_contents(archive::hdf5::Handle file, CorpusInfo& info) {
    CorpusContents contents;
    for (const corpus_schema::DatasetForm& form : corpus_schema::datasets_of(info)) {
        DatasetReader dataset(file.get(), info.path, form.name);
        check_held(dataset, form.name, info);
        contents.datasets.emplace(form.name, std::move(dataset));
    }
    contents.file = std::move(file);
    const bool has_tokens = corpus_schema::has_tokens(info.kind);
    if (has_tokens) info.tokens = contents.datasets.at("/tokens").size();
    check_checksum(contents, info);
    if (has_tokens) contents.row_begins = read_offsets(contents, "/offsets", "/tokens", info);
    if (corpus_schema::has_labels(info.kind)) contents.labels = read_numbers(contents, "/labels", 1, info);
    if (info.kind == RowKind::image)
        check_rows(contents.datasets.at("/images"), "/images", info.image.pixels(), info);
    if (info.kind == RowKind::question) {
        contents.places = read_numbers(contents, "/places", 3, info);
        contents.answer_begins = read_offsets(contents, "/answer_offsets", "/answers", info);
    }
    return contents;
}

}  // namespace trireme::data
