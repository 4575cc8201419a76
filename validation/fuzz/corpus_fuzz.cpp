// Any bytes are a corpus whose rows can be read, or opening, verifying or reading it ends with an Error. Bytes
// that are no HDF5 file do not get far, so inputs are also read as damage to a corpus. The first byte chooses
// the kind of its rows; then each damaged byte has three bytes for its position and one for its value.
#include <algorithm>
#include <array>
#include <vector>

#include "fuzz/target.hpp"
#include "scratch_folder.hpp"
#include "trireme/data/corpus.hpp"
#include "trireme/data/corpus_writer.hpp"

namespace {

using namespace trireme;

constexpr std::uint64_t max_rows = 64;

data::CorpusRow make_row(data::RowKind kind, std::uint32_t number) {
    data::CorpusRow row;
    if (kind == data::RowKind::image) {
        row.pixels.assign(16, static_cast<std::uint8_t>(number));
    } else {
        row.tokens = {number, 65, 66, 257, 67, 68};
    }
    row.label = number % 2;
    if (kind == data::RowKind::question)
        row.question =
            data::Question{.context_begin = 3, .answer_first = 4, .answer_last = 5, .answers = {"CD", "D"}};
    return row;
}

std::string written(data::RowKind kind) {
    const validation::ScratchFolder place;
    const std::vector<std::string> specials{"[CLS]", "[SEP]", "[MASK]"};
    data::CorpusDescription description{
        .kind = kind,
        .tokenizer = data::Tokenizer::make_raw_bytes().with_special_tokens(specials),
        .image = {},
        .source = "rows",
        .filter = "",
        .licence = ""};
    if (kind == data::RowKind::image) {
        description.tokenizer = std::nullopt;
        description.image = {.channels = 1, .height = 4, .width = 4};
    }
    data::CorpusWriter writer(place.file("corpus.h5"), description);
    for (std::uint32_t number = 0; number < 3; ++number) writer.add(make_row(kind, number));
    const bool has_classes = kind == data::RowKind::image || kind == data::RowKind::labelled_text;
    writer.finish(has_classes ? std::vector<std::string>{"one", "other"} : std::vector<std::string>{});
    return validation::read_whole(place.file("corpus.h5"));
}

const validation::ScratchFolder folder;
const std::array<std::string, 4> corpora{written(data::RowKind::text), written(data::RowKind::labelled_text),
                                         written(data::RowKind::question), written(data::RowKind::image)};

std::string damaged(std::string_view input) {
    const auto number = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(input[i])}; };
    std::string bytes = corpora[number(0) % corpora.size()];
    for (std::size_t i = 1; i + 4 <= input.size(); i += 4)
        bytes[(number(i) << 16 | number(i + 1) << 8 | number(i + 2)) % bytes.size()] = input[i + 3];
    return bytes;
}

void read_row(const data::Corpus& corpus, std::uint64_t row) {
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint8_t> pixels;
    switch (corpus.info().kind) {
        case data::RowKind::image:
            corpus.read_image(row, pixels);
            corpus.label(row);
            break;
        case data::RowKind::question:
            corpus.read_question(row);
            corpus.read(row, tokens);
            break;
        case data::RowKind::labelled_text:
            corpus.label(row);
            corpus.read(row, tokens);
            break;
        case data::RowKind::text:
            corpus.read(row, tokens);
            break;
    }
}

void open_and_read(std::string_view bytes, bool is_damaged) {
    try {
        const data::Corpus corpus = data::Corpus::open(folder.write("input.h5", bytes));
        for (std::uint64_t row = 0; row < std::min(corpus.info().rows, max_rows); ++row) read_row(corpus, row);
        corpus.verify();
    } catch (const ConfigError&) {
        fuzz::require(is_damaged, "a corpus as it was written is refused");
    } catch (const ResourceError&) {
    }
}

}  // namespace

void trireme::fuzz::corpus(std::string_view bytes) {
    constexpr std::size_t kind_and_first_damage = 5;  // bytes
    open_and_read(bytes, true);
    if (!bytes.empty()) open_and_read(damaged(bytes), bytes.size() >= kind_and_first_damage);
}
