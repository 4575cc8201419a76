// Reading parts of a checkpoint: boxes of tensors, whichever files and ranks wrote them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/part_writer.hpp"
#include "trireme/device/worker.hpp"

namespace trireme {

// Some rows of a stored box, and where the columns that are wanted lie in them.
struct StoredRows {
    Box box;                           // what is wanted of them, of the whole tensor
    const std::byte* first = nullptr;  // its first element
    std::size_t stride = 0;            // bytes from one row to the next
};
using UseRows = std::function<void(const StoredRows&)>;

// One file, opened. All throw ConfigError where it is missing, cut short, of another save, or does not fit its
// checksums.
class PartReader {
public:
    // `state_sha256` is that of the state.json that names it. All outlive the reader.
    PartReader(const std::filesystem::path& path, const CheckpointState& state, const CheckpointPart& part,
               const std::string& state_sha256, Worker& worker);

    std::uint64_t updates() const { return updates_; }  // behind the moments in it

    // Reads whole rows of `box`, a block at a time, holds each to its sum, and gives what of `wanted` is in it.
    void read(const StateBox& box, const Box& wanted, const UseRows& use) const;

private:
    struct Place {
        std::uint64_t offset = 0;
        std::uint64_t first_sum = 0;
        std::size_t block_rows = 1;
        std::size_t row_bytes = 0;
    };

    [[noreturn]] void refuse(const std::string& fault) const;
    std::uint64_t number(const char* name) const;
    std::string text(const char* name) const;
    void read_sums();
    Place place_of(const StateBox& box) const;
    // A block of rows, read and held to its sum.
    struct Block {
        Range rows;  // of the whole tensor
        std::vector<std::byte> bytes;
    };
    Block block_of(const StateBox& box, const Place& place, std::size_t number) const;
    void check(const StateBox& box, std::uint64_t sum, std::span<const std::byte> block) const;

    std::filesystem::path path_;
    const CheckpointState& state_;
    hdf5::Handle file_;
    PositionedFile bytes_;
    std::uint64_t updates_ = 0;
    std::string sums_;
    Worker& worker_;
};

// All parts of a checkpoint; each is opened when something of it is wanted.
class CheckpointParts {
public:
    // `state` outlives it.
    CheckpointParts(std::filesystem::path folder, const CheckpointState& state, std::string state_sha256);

    // What of `wanted` lies in each box of each part.
    void read(std::size_t tensor, StateField field, const Box& wanted, const UseRows& use) const;
    // Adds those of the parts that have something of it.
    void add_updates(std::set<std::uint64_t>& counts, std::size_t tensor, const Box& wanted) const;
    // Reads every byte of every part.
    void verify() const;

private:
    struct Held {
        std::size_t part = 0;
        Box box;
    };

    const PartReader& part(std::size_t number) const;
    template <class Use>
    void for_each_part_of(std::size_t tensor, const Box& wanted, Use&& use) const;

    std::filesystem::path folder_;
    const CheckpointState& state_;
    std::string state_sha256_;
    std::vector<std::vector<Held>> boxes_;  // of each tensor
    mutable Worker worker_;                 // reads and sums a block while the one before it is used
    mutable std::vector<std::unique_ptr<PartReader>> parts_;
};

}  // namespace trireme
