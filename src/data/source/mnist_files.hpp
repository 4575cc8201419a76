// Reads images and their labels from two files in MNIST's format, IDX: a header of big-endian numbers, then
// bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/input_file.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme::data {

struct IdxHeader {
    bool is_images = false;   // false for labels
    std::uint64_t count = 0;  // number of images or labels
    ImageSize image;          // for images: one channel
    std::uint64_t bytes = 0;  // size of the whole file, as the header implies
};

// Reads the header of `file`. Throws ConfigError if the file has neither images nor labels.
IdxHeader read_idx_header(InputFile& file);

// A file of images and the file of their labels.
struct MnistPair {
    std::string images;
    std::string labels;
    ImageSize size;  // of each image
};

// Pairs the first file of images with the first file of labels, and so on. Reads only the headers. Throws
// ConfigError if a file has no partner, or if the two files of a pair have different counts. Also throws
// ConfigError if a file that is not gzipped does not have the size that its header implies.
std::vector<MnistPair> pair_mnist_files(const std::vector<std::string>& files);

class MnistFiles {
public:
    explicit MnistFiles(const MnistPair& pair);

    // Reads the next image and its label; returns false at the end. Throws ConfigError if a file does not end
    // where its header says.
    bool next(SourceRow& row);
    // Returns the bytes read from both files, after decompression.
    std::uint64_t bytes_read() const { return images_.bytes_read() + labels_.bytes_read(); }
    // Returns the bytes read from both files, before decompression.
    std::uint64_t position() const { return images_.position() + labels_.position(); }

private:
    InputFile images_;
    InputFile labels_;
    IdxHeader header_;               // of the images
    std::uint64_t image_index_ = 0;  // of the next image
};

}  // namespace trireme::data
