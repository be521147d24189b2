target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define i32 @trims() {
  br i1 false, label %.tail.thread, label %.tail.thread

.tail:                                            ; No predecessors!
  br i1 false, label %.tail.thread, label %.tail.thread

1:                                                ; No predecessors!
  br i1 false, label %2, label %7

2:                                                ; preds = %1
  %3 = load i32, ptr null, align 4
  %4 = icmp sgt i32 0, 0
  br i1 false, label %.thread26, label %10

.thread26:                                        ; preds = %2
  %5 = load i32, ptr null, align 4
  %6 = load i32, ptr null, align 4
  br label %10

7:                                                ; preds = %1
  %8 = load i32, ptr null, align 4
  %9 = load i32, ptr null, align 4
  store i32 0, ptr null, align 4
  br label %.tail.thread

10:                                               ; preds = %.thread26, %2
  store i32 0, ptr null, align 4
  %11 = load ptr, ptr null, align 8
  %.not7 = icmp eq ptr null, null
  br i1 false, label %12, label %15

12:                                               ; preds = %10
  store i32 0, ptr null, align 4
  %13 = load i32, ptr null, align 4
  %14 = load i32, ptr null, align 4
  br label %.critedge47

15:                                               ; preds = %10
  %16 = load i32, ptr null, align 4
  %17 = icmp sgt i32 0, 0
  br i1 false, label %18, label %sub_02

18:                                               ; preds = %15
  %19 = load i32, ptr null, align 4
  %20 = load i32, ptr null, align 4
  br label %sub_02

sub_02:                                           ; preds = %18, %15
  store i32 0, ptr null, align 4
  %21 = load i8, ptr null, align 1
  %.not20 = icmp eq i8 0, 0
  br i1 false, label %.tail1, label %.tail1.thread

.tail1:                                           ; preds = %sub_02
  %22 = load i8, ptr null, align 1
  %23 = icmp eq i8 0, 0
  br i1 false, label %24, label %.tail1.thread

24:                                               ; preds = %.tail1
  %25 = load i32, ptr null, align 4
  %26 = icmp sgt i32 0, 0
  br i1 false, label %.thread31, label %31

.thread31:                                        ; preds = %24
  %27 = load i32, ptr null, align 4
  %28 = load i32, ptr null, align 4
  br label %31

.tail1.thread:                                    ; preds = %.tail1, %sub_02
  %29 = load i32, ptr null, align 4
  %30 = load i32, ptr null, align 4
  store i32 0, ptr null, align 4
  br label %.tail.thread

.thread36:                                        ; No predecessors!
  br i1 false, label %.tail.thread, label %.tail.thread

31:                                               ; preds = %.thread31, %24
  br label %.tail.thread

32:                                               ; No predecessors!
  br i1 false, label %33, label %38

33:                                               ; preds = %32
  %34 = load i32, ptr null, align 4
  %35 = icmp sgt i32 0, 0
  br i1 false, label %.thread51, label %41

.thread51:                                        ; preds = %33
  %36 = load i32, ptr null, align 4
  %37 = load i32, ptr null, align 4
  br label %41

38:                                               ; preds = %32
  %39 = load i32, ptr null, align 4
  %40 = load i32, ptr null, align 4
  store i32 0, ptr null, align 4
  br label %.tail.thread

41:                                               ; preds = %.thread51, %33
  store i32 0, ptr null, align 4
  %42 = load ptr, ptr null, align 8
  %.not15 = icmp eq ptr null, null
  br i1 false, label %43, label %46

43:                                               ; preds = %41
  store i32 0, ptr null, align 4
  %44 = load i32, ptr null, align 4
  %45 = load i32, ptr null, align 4
  br label %.critedge47

46:                                               ; preds = %41
  %47 = load i32, ptr null, align 4
  %48 = icmp sgt i32 0, 0
  br i1 false, label %49, label %sub_06

49:                                               ; preds = %46
  %50 = load i32, ptr null, align 4
  %51 = load i32, ptr null, align 4
  br label %sub_06

sub_06:                                           ; preds = %49, %46
  store i32 0, ptr null, align 4
  %52 = load i8, ptr null, align 1
  %.not21 = icmp eq i8 0, 0
  br i1 false, label %.tail5, label %.tail5.thread

.tail5:                                           ; preds = %sub_06
  %53 = load i8, ptr null, align 1
  %54 = icmp eq i8 0, 0
  br i1 false, label %55, label %.tail5.thread

55:                                               ; preds = %.tail5
  %56 = load i32, ptr null, align 4
  %57 = icmp sgt i32 0, 0
  br i1 false, label %.thread56, label %sub_010

.thread56:                                        ; preds = %55
  %58 = load i32, ptr null, align 4
  %59 = load i32, ptr null, align 4
  br label %sub_010

.tail5.thread:                                    ; preds = %.tail5, %sub_06
  %60 = load i32, ptr null, align 4
  %61 = load i32, ptr null, align 4
  store i32 0, ptr null, align 4
  br label %.tail.thread

sub_010:                                          ; preds = %.thread56, %55
  br label %.tail.thread

.tail13.thread:                                   ; No predecessors!
  br label %.tail.thread

62:                                               ; No predecessors!
  br label %.tail.thread

63:                                               ; No predecessors!
  br label %.tail.thread

.tail.thread:                                     ; preds = %63, %62, %.tail13.thread, %sub_010, %.tail5.thread, %38, %31, %.thread36, %.thread36, %.tail1.thread, %7, %.tail, %.tail, %0, %0
  %.0.ph = phi ptr [ null, %62 ], [ null, %63 ], [ null, %.tail13.thread ], [ null, %sub_010 ], [ null, %0 ], [ null, %0 ], [ null, %.tail ], [ null, %7 ], [ null, %.tail1.thread ], [ null, %31 ], [ null, %.tail ], [ null, %.thread36 ], [ null, %38 ], [ null, %.tail5.thread ], [ null, %.thread36 ]
  br label %.critedge47

.critedge47:                                      ; preds = %.tail.thread, %43, %12
  ret i32 0
}
