#include <algorithm>
#include <optional>
#include <variant>

#include "data/source/cifar_file.hpp"
#include "data/source/mnist_files.hpp"
#include "data/source/source_parts.hpp"
#include "data/source/squad_file.hpp"
#include "data/source/synthetic_rows.hpp"
#include "data/source/text_files.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {
namespace {

// Every alternative has next(row), and bytes_read() and position() in the units of SourcePart::size.
using OpenPart = std::variant<SyntheticRows, JsonLines, PlainText, SquadFile, CifarFile, MnistFiles>;

// Detects the format of a pipe, which could not be inspected earlier.
SourceFormat format_of_pipe(InputFile& file) {
    const SourceFormat format = format_of_content(file);
    if (kind_of(format) != RowKind::text)
        throw ConfigError(
            cat(file.path(), " is a pipe that holds more than text; say so with --format ", name_of(format)));
    return format;
}

OpenPart open_file(InputFile file, SourceFormat format, RowUnit unit) {
    switch (format) {
        case SourceFormat::automatic: {
            const SourceFormat found = format_of_pipe(file);
            return open_file(std::move(file), found, unit);
        }
        case SourceFormat::jsonl:
            return JsonLines(std::move(file));
        case SourceFormat::text:
            return PlainText(std::move(file), unit);
        case SourceFormat::squad:
            return SquadFile(std::move(file));
        case SourceFormat::cifar10:
            return CifarFile(std::move(file));
        case SourceFormat::mnist:
            throw BugError("MNIST is read from two files");
    }
    throw BugError("a format without a reader");
}

OpenPart open(const SourcePart& part, const SourceConfig& config) {
    if (part.file.empty()) return SyntheticRows(config.count, config.seed);
    if (part.format == SourceFormat::mnist)
        return MnistFiles({.images = part.file, .labels = part.labels, .size = part.image});
    return open_file(InputFile(part.file), part.format, config.unit);
}

std::uint64_t unanswerable_in(const OpenPart& part) {
    const auto* squad = std::get_if<SquadFile>(&part);
    return squad == nullptr ? 0 : squad->unanswerable();
}

}  // namespace

struct RowReader::State {
    SourceConfig config;
    std::vector<SourcePart> parts;
    std::size_t part = 0;  // index of the current part, or of the next to open
    std::optional<OpenPart> opened;
    std::uint64_t bytes_before = 0;  // of the finished parts
    std::uint64_t size_before = 0;
    std::uint64_t unanswerable_before = 0;

    void close() {
        bytes_before += std::visit([](const auto& open) { return open.bytes_read(); }, *opened);
        unanswerable_before += unanswerable_in(*opened);
        size_before += parts[part].size;
        opened.reset();
        ++part;
    }
};

RowReader::RowReader(SourceConfig config) : state_(std::make_unique<State>()) {
    state_->parts = source_parts(config);
    state_->config = std::move(config);
}

RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;
RowReader::~RowReader() = default;

RowKind RowReader::kind() const { return kind_of(state_->parts.front().format); }

ImageSize RowReader::image_size() const { return state_->parts.front().image; }

std::vector<std::string> RowReader::class_names() const {
    if (state_->parts.front().format == SourceFormat::cifar10) return CifarFile::class_names();
    return {};
}

bool RowReader::next(SourceRow& row) {
    State& state = *state_;
    while (state.part < state.parts.size()) {
        if (!state.opened) state.opened.emplace(open(state.parts[state.part], state.config));
        if (std::visit([&row](auto& open) { return open.next(row); }, *state.opened)) return true;
        state.close();
    }
    return false;
}

std::uint64_t RowReader::bytes_read() const {
    if (!state_->opened) return state_->bytes_before;
    return state_->bytes_before +
           std::visit([](const auto& open) { return open.bytes_read(); }, *state_->opened);
}

double RowReader::share_done() const {
    const State& state = *state_;
    std::uint64_t total = 0;
    for (const SourcePart& part : state.parts) total += part.size;
    std::uint64_t done = state.size_before;
    if (state.opened) done += std::visit([](const auto& open) { return open.position(); }, *state.opened);
    return total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

std::uint64_t RowReader::unanswerable() const {
    return state_->unanswerable_before + (state_->opened ? unanswerable_in(*state_->opened) : 0);
}

}  // namespace trireme::data
