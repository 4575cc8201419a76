#include "data/source/mnist_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::data {
namespace {

constexpr std::uint64_t images_magic = 0x803;  // three-dimensional array of bytes
constexpr std::uint64_t labels_magic = 0x801;  // one-dimensional array of bytes
constexpr std::uint64_t max_side = 4096;       // pixels; guards against damaged headers
constexpr std::uint8_t class_count = 10;

std::uint64_t read_number(InputFile& file) {
    std::array<std::uint8_t, 4> bytes{};
    if (file.read(bytes.data(), bytes.size()) < bytes.size())
        throw ConfigError(cat(file.path(), " is cut short: it ends within its header; copy it again"));
    std::uint64_t number = 0;
    for (const std::uint8_t byte : bytes) number = number << 8 | byte;
    return number;
}

struct FileWithHeader {
    std::string name;
    IdxHeader header;
};

FileWithHeader read_file_header(const std::string& name) {
    if (is_standard_input_pipe(name))
        throw ConfigError(
            cat(name, " is a pipe, but MNIST files must be read twice; write the data to a file first"));
    InputFile file(name);
    const IdxHeader header = read_idx_header(file);
    const std::uint64_t size = std::filesystem::file_size(name);
    if (!file.is_gzipped() && size != header.bytes)
        throw ConfigError(cat(name, " has ", size, " bytes, but its header says ", header.bytes, " (",
                              format_count(header.count, header.is_images ? "image" : "label"),
                              "); it is cut short or damaged: copy it again"));
    return {name, header};
}

MnistPair make_pair_of_files(const FileWithHeader& images, const FileWithHeader& labels) {
    if (images.header.count != labels.header.count)
        throw ConfigError(cat(images.name, " has ", format_count(images.header.count, "image"), ", but ",
                              labels.name, " has ", format_count(labels.header.count, "label"),
                              "; name the files that belong together"));
    return {.images = images.name, .labels = labels.name, .size = images.header.image};
}

void check_end(InputFile& file) {
    std::uint8_t extra_byte = 0;
    if (file.read(&extra_byte, 1) > 0)
        throw ConfigError(cat(file.path(), " is longer than its header says; copy it again"));
}

}  // namespace

IdxHeader read_idx_header(InputFile& file) {
    const std::uint64_t magic = read_number(file);
    if (magic != images_magic && magic != labels_magic)
        throw ConfigError(cat(file.path(), " is not an MNIST file: it begins with ", magic, ", not with ",
                              images_magic, " (images) or ", labels_magic, " (labels)"));
    IdxHeader header;
    header.is_images = magic == images_magic;
    header.count = read_number(file);
    header.bytes = 8 + header.count;
    if (!header.is_images) return header;
    const std::uint64_t height = read_number(file);
    const std::uint64_t width = read_number(file);
    if (std::min(height, width) == 0 || std::max(height, width) > max_side)
        throw ConfigError(cat(file.path(), " says that its images have ", height, " x ", width,
                              " pixels, but each side must have 1 to ", max_side, " pixels"));
    header.image = {.channels = 1, .height = height, .width = width};
    header.bytes = 16 + header.count * header.image.pixels();
    return header;
}

std::vector<MnistPair> pair_mnist_files(const std::vector<std::string>& files) {
    std::vector<FileWithHeader> images;
    std::vector<FileWithHeader> labels;
    for (const std::string& name : files) {
        FileWithHeader file = read_file_header(name);
        (file.header.is_images ? images : labels).push_back(std::move(file));
    }
    if (images.size() != labels.size())
        throw ConfigError(cat("MNIST needs one file of labels per file of images, but the inputs (",
                              files.front(), ", ...) are ", format_count(images.size(), "file"),
                              " of images and ", format_count(labels.size(), "file"),
                              " of labels; name both files of each pair"));
    std::vector<MnistPair> pairs;
    for (std::size_t pair = 0; pair < images.size(); ++pair)
        pairs.push_back(make_pair_of_files(images[pair], labels[pair]));
    return pairs;
}

MnistFiles::MnistFiles(const MnistPair& pair)
    : images_(pair.images), labels_(pair.labels), header_(read_idx_header(images_)) {
    read_idx_header(labels_);
}

bool MnistFiles::next(SourceRow& row) {
    if (image_index_ == header_.count) {
        check_end(images_);
        check_end(labels_);
        return false;
    }
    row.fault.clear();
    row.location = cat(images_.path(), ", image ", image_index_++);
    row.image.pixels.resize(header_.image.pixels());
    std::uint8_t label = 0;
    const std::size_t pixel_bytes = images_.read(row.image.pixels.data(), row.image.pixels.size());
    const bool is_image_cut = pixel_bytes < row.image.pixels.size();
    const char* const noun = is_image_cut ? "image" : "label";
    if (is_image_cut || labels_.read(&label, 1) < 1)
        throw ConfigError(cat(is_image_cut ? images_.path() : labels_.path(), " is cut short: it ends in ",
                              noun, ' ', image_index_ - 1, ", but its header says ",
                              format_count(header_.count, noun), "; copy it again"));
    row.image.label = label;
    if (label >= class_count)
        row.fault = cat("its label is ", int{label}, ", but MNIST has 10 classes, 0 to 9");
    return true;
}

}  // namespace trireme::data
