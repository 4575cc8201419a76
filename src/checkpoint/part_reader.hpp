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

#include "checkpoint/block_reads.hpp"
#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/positioned_file.hpp"
#include "trireme/checkpoint/part_writer.hpp"

namespace trireme::checkpoint {

// One file, opened. All throw ConfigError where it is missing, cut short, of another save, or does not fit its
// checksums.
class PartReader {
public:
    // `state_sha256` is that of the state.json that names it. All outlive the reader.
    PartReader(const std::filesystem::path& path, const CheckpointState& state, const CheckpointPart& part,
               const std::string& state_sha256);

    std::uint64_t updates() const { return updates_; }  // behind the moments in it

    // Adds the blocks of rows of `box` that have something of `wanted`. `use` outlives them.
    void add_reads(std::vector<BlockRead>& reads, const StateBox& box, const layout::Box& wanted,
                   const UseRows& use) const;
    // For any thread: all of a block; then whether that is its SHA-256.
    void read(const BlockRead& read, std::span<std::byte> block) const { bytes_.read(read.offset, block); }
    void check(const BlockRead& read, const std::string& sum) const;

private:
    struct BoxExtent {
        std::uint64_t offset = 0;
        std::uint64_t first_sum = 0;
        std::size_t block_rows = 1;
        std::size_t row_bytes = 0;
    };

    [[noreturn]] void refuse(const std::string& fault) const;
    std::uint64_t number(const char* name) const;
    std::string text(const char* name) const;
    void read_sums();
    BoxExtent extent_of(const StateBox& box) const;

    std::filesystem::path path_;
    const CheckpointState& state_;
    archive::hdf5::Handle file_;
    archive::PositionedFile bytes_;
    std::uint64_t updates_ = 0;
    std::string sums_;
};

// What is wanted of a field of a tensor.
struct WantedBox {
    std::size_t tensor = 0;
    StateField field = StateField::value;
    layout::Box box;
    UseRows use;  // is called by any thread, and by several at a time
};

// All parts of a checkpoint; each is opened when something of it is wanted.
class CheckpointParts {
public:
    // `state` outlives it.
    CheckpointParts(std::filesystem::path folder, const CheckpointState& state, std::string state_sha256);

    // Box by box, block by block, in the order of the disk and by so many threads: all that lies in a part.
    void read(const std::vector<WantedBox>& wanted, int threads) const;
    // Adds those of the parts that have something of it.
    void add_updates(std::set<std::uint64_t>& counts, std::size_t tensor, const layout::Box& wanted) const;
    // Reads every byte of every part, which `see` gets.
    void verify(const std::function<void(const StoredRows&, archive::StoredType)>& see) const;

private:
    struct Held {
        std::size_t part = 0;
        layout::Box box;
    };

    const PartReader& part(std::size_t number) const;
    template <class Use>
    void for_each_part_of(std::size_t tensor, const layout::Box& wanted, Use&& use) const;

    std::filesystem::path folder_;
    const CheckpointState& state_;
    std::string state_sha256_;
    std::vector<std::vector<Held>> boxes_;  // of each tensor
    mutable std::vector<std::unique_ptr<PartReader>> parts_;
};

}  // namespace trireme::checkpoint
