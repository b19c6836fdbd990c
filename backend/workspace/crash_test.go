package workspace

const crashEnv = "WORKSITE_TEST_CRASH"

func crashChild() {}
