// HDF5's own tool shows complete tensors of a checkpoint, although several ranks wrote parts of them.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;
using Arrays = std::map<std::string, std::vector<std::string>>;  // numbers as printed, by path

// The rows and columns of a tensor that a part holds, from the name "NAME[4:8,0:16]".
struct Box {
    std::string tensor;
    std::size_t row = 0, row_end = 0, column = 0, column_end = 0;
};

Box box_of(const std::string& path) {
    const std::size_t bracket = path.find('[');
    Box box;
    box.tensor = path.substr(0, bracket);
    const int read = std::sscanf(path.c_str() + bracket, "[%zu:%zu,%zu:%zu]", &box.row, &box.row_end,
                                 &box.column, &box.column_end);
    EXPECT_EQ(read, 4) << path;
    return box;
}

std::string between_quotes(const std::string& line) {
    const std::size_t begin = line.find('"') + 1;
    return line.substr(begin, line.find('"', begin) - begin);
}

// Adds the numbers of a line, which are separated by commas and blanks.
void add_numbers(std::vector<std::string>& numbers, std::string line) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) numbers.push_back(word);
}

// Parses the output of `h5dump`, which has all digits of the numbers.
Arrays arrays_in(const std::string& dump) {
    Arrays arrays;
    std::istringstream lines(dump);
    std::string group, dataset;
    bool is_data = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("GROUP \"") != line.npos) {
            group = between_quotes(line);
        } else if (line.find("DATASET \"") != line.npos && line.find("SOURCE") == line.npos) {
            dataset = "/" + group + "/" + between_quotes(line);
        } else if (line.find(" DATA {") != line.npos) {
            is_data = true;
        } else if (line.find('}') != line.npos) {
            is_data = false;
        } else if (is_data) {
            add_numbers(arrays[dataset], line);
        }
    }
    return arrays;
}

class H5dump : public Workplace {
protected:
    void SetUp() override {
        if (std::system("command -v h5dump >/dev/null 2>&1") != 0)
            GTEST_SKIP() << "h5dump is not installed (Debian: hdf5-tools)";
        make_corpus();
    }

    Arrays dumped(const fs::path& file) const {
        const std::string out = path("dump.txt").string();
        const std::string command = "h5dump -A 0 -y -m %.9g '" + file.string() + "' >'" + out + "'";
        EXPECT_EQ(std::system(command.c_str()), 0) << command;
        return arrays_in(read("dump.txt"));
    }

    // Returns the tensors of a checkpoint, assembled row by row from its part files.
    Arrays joined(const fs::path& checkpoint) const {
        std::vector<std::pair<Box, std::vector<std::string>>> boxes;
        std::map<std::string, std::size_t> columns;
        for (const auto& entry : fs::directory_iterator(checkpoint)) {
            if (!entry.path().filename().string().starts_with("part-")) continue;
            for (const auto& [name, numbers] : dumped(entry.path())) {
                if (name.find('[') == name.npos) continue;  // skips the checksums
                boxes.emplace_back(box_of(name), numbers);
                std::size_t& most = columns[boxes.back().first.tensor];
                most = std::max(most, boxes.back().first.column_end);
            }
        }
        Arrays tensors;
        for (const auto& [box, numbers] : boxes) put(tensors[box.tensor], columns[box.tensor], box, numbers);
        return tensors;
    }

    static void put(std::vector<std::string>& tensor, std::size_t columns, const Box& box,
                    const std::vector<std::string>& numbers) {
        tensor.resize(std::max(tensor.size(), box.row_end * columns));
        const std::size_t width = box.column_end - box.column;
        ASSERT_EQ(numbers.size(), (box.row_end - box.row) * width);
        for (std::size_t n = 0; n < numbers.size(); ++n)
            tensor[(box.row + n / width) * columns + box.column + n % width] = numbers[n];
    }
};

TEST_F(H5dump, ShowsCompleteTensorsAndMoments) {
    constexpr std::size_t tensors = 16;
    for (const char* layout : {"--data 2", "--tensor 2", "--pipe 2 --microbatches 2"}) {
        SCOPED_TRACE(layout);
        fs::remove_all(path("run"));
        const Outcome outcome = run(std::string("train --corpus corpus.h5 --layers 1 --width 16 --heads 2 "
                                                "--threads 1 --batch 4 --steps 4 --checkpoint-every 2 "
                                                "--run-dir run ") +
                                        layout,
                                    2);
        ASSERT_EQ(outcome.code, 0) << outcome.err;

        for (const char* step : {"run/checkpoints/step-2", "run/checkpoints/step-4"}) {
            const Arrays shown = dumped(path(step) / "model.h5");
            EXPECT_EQ(shown.size(), 3 * tensors);
            EXPECT_TRUE(shown == joined(path(step))) << "of " << step;
        }
    }
}

}  // namespace
}  // namespace trireme::messages
