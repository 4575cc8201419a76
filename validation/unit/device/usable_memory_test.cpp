#include <gtest/gtest.h>

#include "scratch_folder.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::device {
namespace {

using validation::ScratchFolder;

constexpr std::size_t kibi = 1024;

// A node with 1000 KiB of memory, of which 800 KiB are available. Its control groups are files in a folder.
class MemoryLimits : public ::testing::Test {
protected:
    MemoryLimits() { write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 800 kB\n"); }

    void write(const std::string& name, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
        folder_.write(name, text);
    }

    void group_1(const std::string& path, const std::string& limit, std::size_t used, std::size_t cached = 0) {
        write(path + "/memory.limit_in_bytes", limit + "\n");
        write(path + "/memory.usage_in_bytes", std::to_string(used) + "\n");
        write(path + "/memory.stat", "active_file 9\ntotal_inactive_file " + std::to_string(cached) + "\n");
    }

    void group_2(const std::string& path, const std::string& limit, std::size_t used, std::size_t cached = 0) {
        write(path + "/memory.max", limit + "\n");
        write(path + "/memory.current", std::to_string(used) + "\n");
        write(path + "/memory.stat", "anon 5\nactive_file " + std::to_string(cached) + "\n");
    }

    // A limit: its group, its bytes and the bytes that are left.
    using Row = std::tuple<std::string, std::size_t, std::size_t>;
    std::vector<Row> rows() const {
        std::vector<Row> rows;
        for (const UsableMemory& limit : find_usable_memory(folder_.file("")))
            rows.emplace_back(limit.cgroup, limit.total_bytes, limit.available_bytes);
        return rows;
    }

    ScratchFolder folder_;
    const Row node_{"", 1000 * kibi, 800 * kibi};
};

TEST_F(MemoryLimits, AreThoseOfTheNodeWithoutControlGroups) { EXPECT_EQ(rows(), std::vector<Row>({node_})); }

TEST_F(MemoryLimits, AreEmptyIfTheSystemReportsNone) {
    const ScratchFolder empty;
    EXPECT_TRUE(find_usable_memory(empty.file("")).empty());
}

TEST_F(MemoryLimits, IncludeTheVersion2GroupAndItsParents) {
    write("proc/self/cgroup", "0::/slurm/job_7/task_1\n");
    group_2("sys/fs/cgroup/slurm", "max", 500);
    group_2("sys/fs/cgroup/slurm/job_7", "400000", 100000, 30000);
    group_2("sys/fs/cgroup/slurm/job_7/task_1", "90000", 20000);

    EXPECT_EQ(rows(), std::vector<Row>(
                          {node_, {"/slurm/job_7/task_1", 90000, 70000}, {"/slurm/job_7", 400000, 330000}}));
}

TEST_F(MemoryLimits, IncludeTheVersion1GroupAndItsParents) {
    write("proc/self/cgroup", "9:cpu,cpuacct:/other\n4:memory:/slurm/job_7/step_0\n1:name=systemd:/x\n");
    group_1("sys/fs/cgroup/memory", "9223372036854771712", 500);
    group_1("sys/fs/cgroup/memory/slurm/job_7", "400000", 100000, 30000);
    group_1("sys/fs/cgroup/memory/slurm/job_7/step_0", "9223372036854771712", 100000);

    EXPECT_EQ(rows(), std::vector<Row>({node_, {"/slurm/job_7", 400000, 330000}}));
}

// Both versions are mounted, and version 1 controls memory.
TEST_F(MemoryLimits, AreThoseOfVersion1OnAHybridSystem) {
    write("proc/self/cgroup", "4:memory:/job\n0::/job\n");
    group_1("sys/fs/cgroup/memory/job", "400000", 0);
    group_2("sys/fs/cgroup/unified/job", "300000", 0);

    EXPECT_EQ(rows(), std::vector<Row>({node_, {"/job", 400000, 400000}}));
}

// The path is one outside of the container. The container's limit is that of the topmost group that it sees.
TEST_F(MemoryLimits, IncludeTheLimitOfAContainer) {
    for (const std::string path : {"/docker/0123", "/../../docker/0123", "/"}) {
        write("proc/self/cgroup", "0::" + path + "\n");
        group_2("sys/fs/cgroup", "500000", 600000, 200000);

        EXPECT_EQ(rows(), std::vector<Row>({node_, {"/", 500000, 100000}})) << path;
    }
}

TEST_F(MemoryLimits, OmitLimitsAboveTheNodesMemory) {
    write("proc/self/cgroup", "0::/job\n");
    group_2("sys/fs/cgroup/job", "2000000", 0);

    EXPECT_EQ(rows(), std::vector<Row>({node_}));
}

// The group uses more than its limit, and its processes are about to be killed.
TEST_F(MemoryLimits, HaveNothingLeftIfUsageExceedsThem) {
    write("proc/self/cgroup", "0::/job\n");
    group_2("sys/fs/cgroup/job", "1000", 2000);

    EXPECT_EQ(rows(), std::vector<Row>({node_, {"/job", 1000, 0}}));
}

TEST_F(MemoryLimits, HaveOneIdentityPerGroup) {
    group_2("sys/fs/cgroup/job", "90000", 0);
    group_2("sys/fs/cgroup/job/task_0", "40000", 0);
    group_2("sys/fs/cgroup/job/task_1", "40000", 0);
    write("proc/self/cgroup", "0::/job/task_0\n");
    const auto first = find_usable_memory(folder_.file(""));
    write("proc/self/cgroup", "0::/job/task_1\n");
    const auto second = find_usable_memory(folder_.file(""));

    ASSERT_EQ(first.size(), 3U);
    ASSERT_EQ(second.size(), 3U);
    EXPECT_EQ(first[0].identity, second[0].identity);
    EXPECT_NE(first[1].identity, second[1].identity);
    EXPECT_EQ(first[2].identity, second[2].identity);
}

}  // namespace
}  // namespace trireme::device
