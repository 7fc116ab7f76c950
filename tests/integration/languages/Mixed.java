// SPDX-License-Identifier: Apache-2.0
//
// Mixed LIBRARY ROUNDS HOW [SEED COUNT]: methods that call each other, through an interface and a
// lambda, of which the innermost crashes in C, or by itself, after it has printed its
// stack; another thread waits. ROUNDS calls before that have them compiled.
import java.lang.reflect.Field;
import sun.misc.Unsafe;

public class Mixed {
    interface Step {
        long run(long depth);
    }

    static final Object lock = new Object();
    static Unsafe unsafe;
    static String how;
    static long sum;
    static long seed;
    static int count;

    static native void crash();

    static native void ruin(long seed, int count);

    static void print(String thread, StackTraceElement[] stack) {
        for (StackTraceElement one : stack)
            System.out.println(thread + " " + one.getClassName() + "." + one.getMethodName()
                + " " + one.getFileName() + " " + one.getLineNumber());
    }

    static long price(long depth) {
        if (depth == 7) { print("worker", new Throwable().getStackTrace()); crash(); }
        if (depth == 9) ruin(seed, count);
        if (depth == 8) unsafe.putInt(8L, 1);
        return depth + 1;
    }

    static long total(long depth) {
        long first = price(depth);
        return first * 2;
    }

    static long serve(long depth) {
        Step step = n -> total(n) + 1;
        return step.run(depth);
    }

    static long deep(long left, long depth) {
        return left == 0 ? serve(depth) : deep(left - 1, depth) + 1;
    }

    static void waits() {
        synchronized (lock) {
            try {
                lock.wait();
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    static void work() {
        sum += deep(20, how.equals("unsafe") ? 8 : how.equals("ruin") ? 9 : 7);
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        how = arguments[2];
        if (how.equals("ruin")) {
            seed = Long.parseLong(arguments[3]);
            count = Integer.parseInt(arguments[4]);
        }
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = (Unsafe) field.get(null);
        Thread waiter = new Thread(Mixed::waits, "waiter");
        waiter.setDaemon(true);
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) Thread.yield();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) sum += deep(20, i % 5);
        print("waiter", waiter.getStackTrace());
        Thread worker = new Thread(Mixed::work, "worker");
        worker.start();
        worker.join();
        System.out.println(sum);
    }
}
