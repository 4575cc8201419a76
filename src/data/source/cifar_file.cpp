#include "data/source/cifar_file.hpp"

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr std::size_t classes = 10;

}  // namespace

std::vector<std::string> CifarFile::class_names() {
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

bool CifarFile::next(SourceRow& row) {
    std::uint8_t label = 0;
    if (file_.read(&label, 1) == 0) return false;
    row.fault.clear();
    row.location = cat(file_.path(), ", image ", image_count_++);
    row.image.label = label;
    row.image.pixels.resize(image_size.pixels());
    const std::size_t pixel_bytes = file_.read(row.image.pixels.data(), row.image.pixels.size());
    if (pixel_bytes < row.image.pixels.size())
        throw ConfigError(cat(row.location, " is cut short: it has ", 1 + pixel_bytes, " of the ", row_bytes,
                              " bytes of a CIFAR-10 image; copy the file again"));
    if (label >= classes) row.fault = cat("its label is ", int{label}, ", but CIFAR-10 has 10 classes, 0 to 9");
    return true;
}

}  // namespace trireme::data
