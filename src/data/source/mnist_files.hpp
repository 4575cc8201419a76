// Images and their labels in two files of MNIST's form, IDX: a header of big-endian numbers, then bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/input_file.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme::data {

struct IdxHeader {
    bool is_images = false;   // else labels
    std::uint64_t count = 0;  // of either
    ImageSize image;          // of images: one channel
    std::uint64_t bytes = 0;  // of the whole file, as the header says
};

// The header, which is read from `file`. Throws ConfigError for what is neither images nor labels.
IdxHeader read_idx_header(InputFile& file);

struct MnistPair {
    std::string images;
    std::string labels;
    ImageSize size;
};

// The first file of images with the first of labels, and so on. Reads the headers. Throws ConfigError where a
// file is left alone, a pair does not have as many images as labels, or a file is not as long as it says.
std::vector<MnistPair> pair_mnist_files(const std::vector<std::string>& files);

class MnistFiles {
public:
    explicit MnistFiles(const MnistPair& pair);

    // Throws ConfigError where a file does not end where its header says.
    bool next(SourceRow& row);
    std::uint64_t bytes_read() const { return images_.bytes_read() + labels_.bytes_read(); }
    std::uint64_t position() const { return images_.position() + labels_.position(); }

private:
    InputFile images_;
    InputFile labels_;
    IdxHeader header_;  // of the images
    std::uint64_t next_ = 0;
};

}  // namespace trireme::data
