// Reads boxes of tensors from the parts of a checkpoint, whichever ranks wrote them.
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

// Reads one part. All functions throw ConfigError if the file is missing, cut short, of another save, or does
// not match its checksums.
class PartReader {
public:
    // `state_sha256` is that of the state.json that names this part. `state` must outlive the reader.
    PartReader(const std::filesystem::path& path, const CheckpointState& state, const CheckpointPart& part,
               const std::string& state_sha256);

    std::uint64_t updates() const { return updates_; }  // number of updates that its moments contain

    // Adds the blocks of rows of `box` that intersect `wanted`. `use` must outlive them.
    void add_reads(std::vector<BlockRead>& reads, const StateBox& box, const layout::Box& wanted,
                   const UseRows& use) const;
    // Read a whole block and compare its SHA-256 with the recorded one. May be called by any thread.
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

// A requested box of a field of a tensor.
struct WantedBox {
    std::size_t tensor = 0;
    StateField field = StateField::value;
    layout::Box box;
    UseRows use;  // called by any thread, also concurrently
};

// All parts of a checkpoint. A part is opened when it is first read.
class CheckpointParts {
public:
    // `state` must outlive this object.
    CheckpointParts(std::filesystem::path folder, const CheckpointState& state, std::string state_sha256);

    // Reads the boxes with `threads` threads, block by block in the order of the disk.
    void read(const std::vector<WantedBox>& wanted, int threads) const;
    // Adds the numbers of updates of all parts that intersect `wanted`.
    void add_updates(std::set<std::uint64_t>& counts, std::size_t tensor, const layout::Box& wanted) const;
    // Reads every byte of every part, checks it and passes it to `see`.
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
    std::vector<std::vector<Held>> boxes_;  // per tensor
    mutable std::vector<std::unique_ptr<PartReader>> parts_;
};

}  // namespace trireme::checkpoint
