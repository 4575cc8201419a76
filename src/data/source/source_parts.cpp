#include "data/source/source_parts.hpp"

#include <filesystem>

#include "data/source/cifar_file.hpp"
#include "data/source/mnist_files.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

namespace fs = std::filesystem;

void check_synthetic(const SourceConfig& config) {
    if (config.synthetic != "csn")
        throw ConfigError(cat("--synthetic '", config.synthetic, "' is unknown; the one sample there is: csn"));
    if (!config.inputs.empty())
        throw ConfigError(cat("--synthetic makes its own rows, but there is an input too (", config.inputs[0],
                              "); leave one of them out"));
    if (config.format != SourceFormat::automatic)
        throw ConfigError(cat("--format ", name_of(config.format),
                              " tells what inputs hold, but --synthetic has none; leave one of them out"));
    if (config.count == 0) throw ConfigError("--synthetic with --count 0 makes no rows; ask for one at least");
}

std::uint64_t checked_size(const std::string& name) {
    std::error_code error;
    const fs::file_status status = fs::status(name, error);
    if (!fs::exists(status)) throw ConfigError(cat("the input ", name, " does not exist; check its name"));
    if (fs::is_directory(status))
        throw ConfigError(cat("the input ", name, " is a folder; name its files: ", name, "/*.jsonl"));
    if (is_standard_input_pipe(name)) return 0;
    const std::uintmax_t size = fs::file_size(name, error);
    return error ? 0 : size;  // opening the file reports the error
}

SourcePart part_of(const std::string& name, SourceFormat format) {
    SourcePart part{.file = name, .labels = {}, .format = format, .image = {}, .size = checked_size(name)};
    if (part.format == SourceFormat::automatic) part.format = format_of_name(name, part.size);
    if (part.format == SourceFormat::automatic && !is_standard_input_pipe(name)) {
        InputFile file(name);
        part.format = format_of_content(file);
    }
    if (part.format == SourceFormat::cifar10) part.image = CifarFile::image_size;
    return part;
}

const char* plural(RowKind kind) {
    switch (kind) {
        case RowKind::text:
        case RowKind::labelled_text:
            return "texts";
        case RowKind::question:
            return "questions";
        case RowKind::image:
            return "images";
    }
    throw BugError("a kind of rows without a word");
}

std::string in_words(const SourcePart& part) {
    const auto format = part.format == SourceFormat::automatic ? SourceFormat::text : part.format;
    return cat(part.file, " holds ", plural(kind_of(format)), " (--format ", name_of(format), ")");
}

void check_one_kind(const std::vector<SourcePart>& parts) {
    for (const SourcePart& part : parts)
        if (kind_of(part.format) != kind_of(parts.front().format))
            throw ConfigError(cat("a corpus has rows of one kind, but ", in_words(parts.front()), " and ",
                                  in_words(part), "; prepare them one by one"));
}

// Replaces the files of images and of labels by one part per pair.
std::vector<SourcePart> with_pairs(std::vector<SourcePart> parts) {
    std::vector<SourcePart> joined;
    std::vector<std::string> files;
    for (SourcePart& part : parts) {
        if (part.format == SourceFormat::mnist) {
            files.push_back(part.file);
        } else {
            joined.push_back(std::move(part));
        }
    }
    for (const MnistPair& pair : pair_mnist_files(files))
        joined.push_back({.file = pair.images,
                          .labels = pair.labels,
                          .format = SourceFormat::mnist,
                          .image = pair.size,
                          .size = checked_size(pair.images) + checked_size(pair.labels)});
    return joined;
}

std::string in_words(const ImageSize& size) {
    return cat(size.channels, " x ", size.height, " x ", size.width);
}

void check_one_size(const std::vector<SourcePart>& parts) {
    for (const SourcePart& part : parts)
        if (part.image != parts.front().image)
            throw ConfigError(cat("the images of a corpus have one size, but those of ", parts.front().file,
                                  " have ", in_words(parts.front().image), " pixels and those of ", part.file,
                                  ' ', in_words(part.image), "; prepare them one by one"));
}

}  // namespace

std::vector<SourcePart> source_parts(const SourceConfig& config) {
    if (!config.synthetic.empty()) {
        check_synthetic(config);
        SourcePart part;
        part.size = config.count;
        return {part};
    }
    if (config.inputs.empty())
        throw ConfigError("there is nothing to prepare; name input files, or ask for --synthetic csn");
    std::vector<SourcePart> parts;
    for (const std::string& input : config.inputs) parts.push_back(part_of(input, config.format));
    check_one_kind(parts);
    parts = with_pairs(std::move(parts));
    check_one_size(parts);
    return parts;
}

}  // namespace trireme::data
