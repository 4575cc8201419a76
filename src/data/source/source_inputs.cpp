#include "data/source/source_inputs.hpp"

#include <filesystem>

#include "data/source/cifar_file.hpp"
#include "data/source/mnist_files.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

namespace fs = std::filesystem;

void check_synthetic(const SourceConfig& config) {
    if (config.synthetic != "csn")
        throw ConfigError(cat("--synthetic '", config.synthetic, "' is unknown; use --synthetic csn"));
    if (!config.inputs.empty())
        throw ConfigError(cat("--synthetic generates its own rows, but the input ", config.inputs[0],
                              " is given too; drop one of the two"));
    if (config.format != SourceFormat::automatic)
        throw ConfigError(
            cat("--format ", to_string(config.format),
                " describes input files, but --synthetic reads none; drop one of the two options"));
    if (config.count == 0)
        throw ConfigError("--synthetic with --count 0 generates no rows; use --count 1 or more");
}

std::uint64_t find_file_size(const std::string& name) {
    std::error_code error;
    const fs::file_status status = fs::status(name, error);
    if (!fs::exists(status)) throw ConfigError(cat("the input ", name, " does not exist; check its name"));
    if (fs::is_directory(status))
        throw ConfigError(cat("the input ", name, " is a folder; name its files: ", name, "/*.jsonl"));
    if (is_standard_input_pipe(name)) return 0;
    const std::uintmax_t size = fs::file_size(name, error);
    return error ? 0 : size;  // 0, because opening the file will report the error
}

SourceInput make_source_input(const std::string& name, SourceFormat format) {
    SourceInput source_input{
        .file = name, .labels = {}, .format = format, .image = {}, .size = find_file_size(name)};
    if (source_input.format == SourceFormat::automatic)
        source_input.format = find_format_of_name(name, source_input.size);
    if (source_input.format == SourceFormat::automatic && !is_standard_input_pipe(name)) {
        InputFile file(name);
        source_input.format = detect_format(file);
    }
    if (source_input.format == SourceFormat::cifar10) source_input.image = CifarFile::image_size;
    return source_input;
}

const char* name_rows(RowKind kind) {
    switch (kind) {
        case RowKind::text:
        case RowKind::labelled_text:
            return "texts";
        case RowKind::question:
            return "questions";
        case RowKind::image:
            return "images";
    }
    throw BugError("this kind of rows has no name");
}

std::string describe_input(const SourceInput& source_input) {
    const auto format =
        source_input.format == SourceFormat::automatic ? SourceFormat::text : source_input.format;
    return cat(source_input.file, " holds ", name_rows(find_kind(format)), " (--format ", to_string(format),
               ")");
}

void check_one_kind(const std::vector<SourceInput>& source_inputs) {
    for (const SourceInput& source_input : source_inputs)
        if (find_kind(source_input.format) != find_kind(source_inputs.front().format))
            throw ConfigError(cat("a corpus has rows of one kind, but ", describe_input(source_inputs.front()),
                                  " and ", describe_input(source_input), "; prepare them as separate corpora"));
}

// Replaces the MNIST files by one input per pair: a file of images and the file of their labels.
std::vector<SourceInput> join_mnist_pairs(std::vector<SourceInput> source_inputs) {
    std::vector<SourceInput> result;
    std::vector<std::string> files;
    for (SourceInput& source_input : source_inputs) {
        if (source_input.format == SourceFormat::mnist) {
            files.push_back(source_input.file);
        } else {
            result.push_back(std::move(source_input));
        }
    }
    for (const MnistPair& pair : pair_mnist_files(files))
        result.push_back({.file = pair.images,
                          .labels = pair.labels,
                          .format = SourceFormat::mnist,
                          .image = pair.size,
                          .size = find_file_size(pair.images) + find_file_size(pair.labels)});
    return result;
}

std::string format_size(const ImageSize& size) {
    return cat(size.channels, " x ", size.height, " x ", size.width);
}

void check_one_size(const std::vector<SourceInput>& source_inputs) {
    for (const SourceInput& source_input : source_inputs)
        if (source_input.image != source_inputs.front().image)
            throw ConfigError(
                cat("the images of a corpus have one size, but those of ", source_inputs.front().file, " have ",
                    format_size(source_inputs.front().image), " pixels and those of ", source_input.file, ' ',
                    format_size(source_input.image), "; prepare them as separate corpora"));
}

}  // namespace

std::vector<SourceInput> list_source_inputs(const SourceConfig& config) {
    if (!config.synthetic.empty()) {
        check_synthetic(config);
        SourceInput source_input;
        source_input.size = config.count;
        return {source_input};
    }
    if (config.inputs.empty())
        throw ConfigError("there is nothing to prepare; name input files, or use --synthetic csn");
    std::vector<SourceInput> source_inputs;
    for (const std::string& input : config.inputs)
        source_inputs.push_back(make_source_input(input, config.format));
    check_one_kind(source_inputs);
    source_inputs = join_mnist_pairs(std::move(source_inputs));
    check_one_size(source_inputs);
    return source_inputs;
}

}  // namespace trireme::data
